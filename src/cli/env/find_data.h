// Selects the files that the storage test of `tundish env` reads, and the size of each read.
#pragma once

#include <string>

#include "tools/environment/check_storage.h"

namespace tundish::cli {

// Accepts a pack, a manifest of packs, a folder, or any file. For packs, a read has the size of the
// mean record. Files below 4 MiB are read whole, larger files 128 KiB at a time. A nonzero
// `record_bytes` overrides these sizes. A pack that cannot be opened counts as a plain file.
// Throws Error(source_missing) if there is no file.
StorageQuestion find_data(const std::string& path, std::uint64_t record_bytes);

}  // namespace tundish::cli
