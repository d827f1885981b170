#include "tools/environment/check_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = std::uint64_t{1} << 30;

double real(std::uint64_t value) { return static_cast<double>(value); }

Finding left_finding(const HostMemoryState& memory) {
  Finding out{.area = "memory", .name = "left"};
  const std::uint64_t all =
      std::min(memory.total > 0 ? memory.total : kNoMemoryLimit, memory.limit);
  out.values = {{"left_bytes", real(memory.left)}, {"total_bytes", real(memory.total)}};
  if (memory.limit != kNoMemoryLimit) out.values.emplace_back("limit_bytes", real(memory.limit));
  if (all == kNoMemoryLimit) {
    out.figure = "not known";
    return out;
  }
  out.figure = fmt::format("{} of {}", bytes_text(memory.left), bytes_text(all));
  if (memory.limit < memory.total) out.figure += " (limit of the control group)";
  if (memory.left >= 2 * kGiB && memory.left >= all / 20) return out;
  out.level = memory.left < kGiB / 2 ? Level::problem : Level::warning;
  out.reason = "a process that needs more is killed";
  out.fix = memory.limit < memory.total ? "docker run --memory=64g ..., or Loader(memory=\"1GiB\")"
                                        : "ps aux --sort=-rss | head, or Loader(memory=\"1GiB\")";
  return out;
}

Finding killed_finding(const HostMemoryState& memory) {
  Finding out{.area = "memory", .name = "killed for memory"};
  out.level = Level::warning;
  out.values = {{"processes", real(memory.killed)}};
  out.figure = fmt::format("{} process{} of this control group", memory.killed,
                           memory.killed == 1 ? "" : "es");
  out.reason = "the limit of the group was reached since it was made";
  out.fix = "docker run --memory=N with a larger N, or Loader(memory=\"1GiB\"), or fewer workers";
  return out;
}

Finding swap_finding(const HostMemoryState& memory) {
  Finding out{.area = "memory", .name = "swap"};
  const std::uint64_t used = memory.swap_total - memory.swap_free;
  out.values = {{"used_bytes", real(used)}, {"total_bytes", real(memory.swap_total)}};
  out.figure = memory.swap_total == 0
                   ? "none"
                   : fmt::format("{} of {} used", bytes_text(used), bytes_text(memory.swap_total));
  if (used < kGiB || memory.available == 0 || memory.available > memory.total / 10) return out;
  out.level = Level::warning;
  out.reason = "memory is short, and pages are on the disk";
  out.fix = "ps aux --sort=-rss | head";
  return out;
}

// DataLoader processes pass batches through /dev/shm, which is 64 MiB in containers by default.
Finding shared_finding(const HostMemoryState& memory) {
  Finding out{.area = "memory", .name = "/dev/shm"};
  if (!memory.shared_bytes) {
    out.level = Level::problem;
    out.figure = "there is none";
    out.reason = "DataLoader(num_workers=1 and more) cannot pass batches";
    out.fix = "sudo mount -t tmpfs -o size=8g tmpfs /dev/shm";
    return out;
  }
  out.values = {{"bytes", real(*memory.shared_bytes)}, {"free_bytes", real(memory.shared_free)}};
  out.figure =
      fmt::format("{}, {} free", bytes_text(*memory.shared_bytes), bytes_text(memory.shared_free));
  if (memory.shared_free >= kGiB) return out;
  const bool small = *memory.shared_bytes < kGiB;
  out.level = memory.shared_free < 256 * kMiB ? Level::problem : Level::warning;
  out.reason = "worker processes of torch's DataLoader die with \"bus error\" when it is full";
  out.fix = small ? "docker run --shm-size=8g ... (or --ipc=host); tundish.Loader needs none of it"
                  : "ls -l /dev/shm, and remove what ended processes left";
  return out;
}

Finding locked_finding(const HostMemoryState& memory) {
  Finding out{.area = "memory", .name = "memlock"};
  const std::uint64_t limit = *memory.locked_limit;
  if (limit != kNoMemoryLimit) out.values = {{"bytes", real(limit)}};
  out.figure = limit == kNoMemoryLimit ? "unlimited" : bytes_text(limit);
  if (limit == kNoMemoryLimit || !memory.has_infiniband) return out;
  out.level = Level::warning;
  out.reason = "NCCL locks its buffers for InfiniBand; pinned memory of CUDA is not limited by it";
  out.fix = "ulimit -l unlimited, or docker run --ulimit memlock=-1 ...";
  return out;
}

Finding open_files_finding(const HostMemoryState& memory) {
  Finding out{.area = "memory", .name = "open files"};
  const std::uint64_t limit = *memory.open_files;
  if (limit != kNoMemoryLimit) out.values = {{"files", real(limit)}};
  out.figure = limit == kNoMemoryLimit ? "unlimited" : fmt::format("{} for each process", limit);
  if (limit >= 1024) return out;
  out.level = Level::warning;
  out.reason = "torch's worker processes pass a descriptor for each tensor";
  out.fix = "ulimit -n 65536";
  return out;
}

}  // namespace

Findings check_memory(const HostMemoryState& memory) {
  Findings out = {left_finding(memory)};
  if (memory.killed > 0) out.push_back(killed_finding(memory));
  out.push_back(swap_finding(memory));
  out.push_back(shared_finding(memory));
  if (memory.locked_limit) out.push_back(locked_finding(memory));
  if (memory.open_files) out.push_back(open_files_finding(memory));
  return out;
}

}  // namespace tundish
