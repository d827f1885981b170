// The file system of a path, from /proc/self/mountinfo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tundish {

struct Mount {
  std::string point;   // "/data"
  std::string type;    // "ext4", "nfs4", "fuse.s3fs"
  std::string source;  // "/dev/nvme0n1p1", "server:/export"
  std::uint32_t major = 0, minor = 0;
};

// Accepts any bytes and skips lines that do not describe a mount.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Returns the mount of an absolute path without links; the last one if several share a mount point.
std::optional<Mount> mount_of(const std::string& path, const std::vector<Mount>& mounts);

// Whether reads from such a file system cross a network, or another machine's kernel.
bool is_network_file_system(std::string_view type);

}  // namespace tundish
