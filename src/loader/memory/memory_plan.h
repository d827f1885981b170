// Division of a loader's memory before it starts.
#pragma once

#include <cstdint>
#include <string>

namespace tundish {

inline constexpr std::uint64_t kMinPerThread = 4 << 20;

// Number of batches: those waiting for the trainer, the one in use and the one being delivered.
inline std::uint64_t batches_at_once(int prefetch) {
  return static_cast<std::uint64_t>(prefetch > 1 ? prefetch : 1) + 2;
}

struct MemoryNeeds {
  std::uint64_t budget = 0;
  std::uint64_t source = 0;   // index, names, chunks
  std::uint64_t threads = 1;  // decoding threads, including the trainer's thread
  std::uint64_t batches = 1;  // batches that exist at once
  std::uint64_t batch_size = 1;
  std::uint64_t image_bytes = 0;  // bytes of an image in a batch; 0: unknown before the first batch
};

struct MemoryShares {
  std::uint64_t per_thread = 0;  // memory that a thread may keep from sample to sample
  std::uint64_t shared = 0;      // batches, and samples that need more than a thread keeps
};

// Throws Error(budget_too_small) with the numbers if the budget cannot hold the batches.
MemoryShares share_memory(const MemoryNeeds& needs, const std::string& path);

}  // namespace tundish
