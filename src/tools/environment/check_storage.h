// Judges the disk of a dataset: its file system, the page cache, and measured reading.
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
  std::string shown_path{};  // quoted for a shell
  std::optional<Mount> mount{};
  std::optional<BlockDevice> disk{};
  std::uint64_t free_bytes = 0, total_bytes = 0;  // space of the file system; total 0: unknown
  DataFiles data{};
  CachedPart cache{};
  std::uint64_t record_bytes = 0;  // size of a random read; 0: whole files
  ReadRate sequential{};
  std::vector<ReadRate> random{};  // ordered by increasing queue depth
  bool measured = true;
};

// Maximum time of the measurements of read_storage(), in seconds.
inline constexpr double kStorageSeconds = 2.0;

struct StorageQuestion {
  std::string path{};  // the path as given by the user
  DataFiles data{};
  std::uint64_t record_bytes = 0;  // 0: whole files
  bool measure = true;
  std::uint64_t seed = 0;
};

// Reads all storage facts of the path. Blocks during the measurements.
StorageState read_storage(const StorageQuestion& question, const SystemRoots& roots = {});

Findings check_storage(const StorageState& storage);

}  // namespace tundish
