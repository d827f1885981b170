// Judges the disk that a data set is on: its file system, the page cache, and measured reading.
#pragma once

#include <optional>
#include <vector>

#include "base/machine/storage/block_device.h"
#include "base/machine/storage/mounts.h"
#include "base/machine/storage/page_cache.h"
#include "base/machine/storage/read_rate.h"
#include "tools/environment/finding.h"

namespace tundish {

struct StorageState {
  std::string path{};
  std::string shown_path{};  // as it is typed in a shell
  std::optional<Mount> mount{};
  std::optional<BlockDevice> disk{};
  std::uint64_t free_bytes = 0, total_bytes = 0;  // of the file system; total 0: not known
  DataFiles data{};
  CachedPart cache{};
  std::uint64_t record_bytes = 0;  // of a random read; 0: whole files
  ReadRate sequential{};
  std::vector<ReadRate> random{};  // by rising depth
  bool measured = true;
};

// How many seconds the measurements of read_storage() take, at most.
inline constexpr double kStorageSeconds = 2.0;

struct StorageQuestion {
  std::string path{};  // what the user calls the data
  DataFiles data{};
  std::uint64_t record_bytes = 0;  // 0: whole files
  bool measure = true;
  std::uint64_t seed = 0;
};

// Everything about the storage of the path. Blocks while it measures.
StorageState read_storage(const StorageQuestion& question, const SystemRoots& roots = {});

Findings check_storage(const StorageState& storage);

}  // namespace tundish
