#include "cli/env/find_data.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "data/pack/manifest.h"
#include "data/pack/open.h"

namespace tundish::cli {
namespace {

constexpr std::uint64_t kWholeBelow = std::uint64_t{4} << 20, kPart = std::uint64_t{128} << 10;

// Returns all existing shards of a manifest.
DataFiles shard_files(const std::string& manifest) {
  DataFiles out;
  const std::filesystem::path folder = std::filesystem::path(manifest).parent_path();
  for (const Shard& shard : read_manifest(manifest).shards) {
    if (out.files.size() == kMaxDataFiles) {
      out.complete = false;
      break;
    }
    const DataFiles one = find_data_files((folder / shard.name).string());
    out.files.insert(out.files.end(), one.files.begin(), one.files.end());
    out.bytes += one.bytes;
  }
  return out;
}

// Returns the mean record size of the first pack in bytes; 0 if it is not a pack.
std::uint64_t record_of_pack(const DataFiles& data) {
  if (data.files.empty() || !data.files[0].path.ends_with(".tnd")) return 0;
  try {
    const std::uint64_t records = Pack::open(data.files[0].path)->count();
    return data.files[0].bytes / std::max<std::uint64_t>(1, records);
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

StorageQuestion find_data(const std::string& path, std::uint64_t record_bytes) {
  std::error_code fault;
  if (!std::filesystem::exists(path, fault)) {
    throw Error(ErrorCode::source_missing, {.file = path}, "");
  }
  StorageQuestion out{.path = path};
  out.data = is_manifest(path) ? shard_files(path) : find_data_files(path);
  out.record_bytes = record_bytes > 0 ? record_bytes : record_of_pack(out.data);
  if (out.record_bytes > 0 || out.data.files.empty()) return out;
  const std::uint64_t mean = out.data.bytes / out.data.files.size();
  out.record_bytes = mean < kWholeBelow ? 0 : kPart;
  return out;
}

}  // namespace tundish::cli
