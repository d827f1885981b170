#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>

#include "base/machine/text_file.h"
#include "tools/environment/check_storage.h"

namespace tundish {
namespace {

// For btrfs and layered file systems, the device numbers in the mount table are made up. The
// mounted device itself has the real numbers.
std::optional<BlockDevice> disk_of(const Mount& mount, const SystemRoots& roots) {
  std::optional<BlockDevice> disk = read_block_device(mount.major, mount.minor, roots);
  struct stat about{};
  if (disk || !mount.source.starts_with("/dev/")) return disk;
  if (::stat(mount.source.c_str(), &about) != 0 || !S_ISBLK(about.st_mode)) return disk;
  return read_block_device(major(about.st_rdev), minor(about.st_rdev), roots);
}

}  // namespace

StorageState read_storage(const StorageQuestion& question, const SystemRoots& roots) {
  StorageState out{.path = question.path, .shown_path = question.path};
  out.record_bytes = question.record_bytes;
  out.measured = question.measure;
  out.data = question.data;
  std::error_code fault;
  const std::string whole = std::filesystem::canonical(question.path, fault).string();
  if (!fault) {
    const std::string mounts = read_text(roots.proc + "/self/mountinfo").value_or("");
    out.mount = mount_of(whole, parse_mounts(mounts));
    if (out.mount) out.disk = disk_of(*out.mount, roots);
  }
  struct statvfs space{};
  if (::statvfs(question.path.c_str(), &space) == 0) {
    out.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
    out.total_bytes = std::uint64_t{space.f_blocks} * space.f_frsize;
  }
  out.cache = find_cached_part(out.data);
  if (!question.measure || out.data.files.empty()) return out;
  constexpr unsigned kDepths[] = {1, 4, 16, 64};
  constexpr double kEach = kStorageSeconds / (1 + std::size(kDepths));
  out.sequential = measure_sequential(out.data, question.seed, {.seconds = kEach});
  for (const unsigned depth : kDepths) {
    out.random.push_back(measure_random(out.data, question.record_bytes, depth,
                                        question.seed + depth, {.seconds = kEach}));
  }
  return out;
}

}  // namespace tundish
