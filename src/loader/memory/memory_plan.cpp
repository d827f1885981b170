#include "loader/memory/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxPerThread = 32 << 20;

}  // namespace

MemoryShares share_memory(const MemoryNeeds& needs, const std::string& path) {
  const std::uint64_t batches = needs.batches * needs.batch_size * needs.image_bytes;
  const std::uint64_t least = batches + needs.source + needs.threads * kMinPerThread;
  if (least > needs.budget) {
    const std::string of_batches =
        batches > 0 ? fmt::format("{} batches of {} x {} bytes, ", needs.batches,
                                  with_commas(needs.batch_size), with_commas(needs.image_bytes))
                    : "";
    throw Error(
        ErrorCode::budget_too_small, {.file = path},
        fmt::format(
            "{} bytes are given; {}{} threads of {} and what is kept of the data, {}, take {}",
            with_commas(needs.budget), of_batches, needs.threads, with_commas(kMinPerThread),
            with_commas(needs.source), with_commas(least)));
  }
  const std::uint64_t left = needs.budget - needs.source - batches;
  const std::uint64_t per_thread =
      std::clamp(left / (8 * needs.threads), kMinPerThread, kMaxPerThread);
  return {per_thread, needs.budget - needs.source - needs.threads * per_thread};
}

}  // namespace tundish
