// Which files the storage test of `tundish env` reads, and how much at a time.
#pragma once

#include <string>

#include "tools/environment/check_storage.h"

namespace tundish::cli {

// A pack, a manifest of packs, a folder, or any file. The record is the mean record of packs; files
// below 4 MiB are read whole, of larger ones 128 KiB at a time. `record_bytes` overrules that
// unless it is 0. A pack that cannot be opened is a plain file here: verify is for that.
// Throws Error(source_missing) when there is nothing.
StorageQuestion find_data(const std::string& path, std::uint64_t record_bytes);

}  // namespace tundish::cli
