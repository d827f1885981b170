#include "base/machine/storage/mounts.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/machine/text_file.h"

namespace tundish {
namespace {

// Decodes octal escapes: the kernel writes spaces and backslashes as \040 and \134.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '\\' && text.size() - i > 3 &&
        std::from_chars(digits, digits + 3, value, 8).ptr == digits + 3 && value < 256) {
      out += static_cast<char>(static_cast<unsigned char>(value));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Parses "8:17".
bool parse_device(Mount& out, std::string_view text) {
  const char* end = text.data() + text.size();
  const auto [colon, fault] = std::from_chars(text.data(), end, out.major);
  if (fault != std::errc{} || colon == end || *colon != ':') return false;
  const auto [last, second_fault] = std::from_chars(colon + 1, end, out.minor);
  return second_fault == std::errc{} && last == end;
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> out;
  // 36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda1 rw
  for (const std::string_view line : lines_of(mountinfo)) {
    const std::vector<std::string_view> words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    Mount mount;
    if (dash - words.begin() < 6 || words.end() - dash < 3) continue;
    if (!parse_device(mount, words[2]) || !words[4].starts_with('/')) continue;
    mount.point = unescaped(words[4]);
    mount.type = unescaped(dash[1]);
    mount.source = unescaped(dash[2]);
    out.push_back(std::move(mount));
  }
  return out;
}

std::optional<Mount> mount_of(const std::string& path, const std::vector<Mount>& mounts) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    const std::string& point = mount.point;
    const bool below =
        point == "/" || path == point || (path.starts_with(point) && path[point.size()] == '/');
    if (below && (!best || point.size() >= best->point.size())) best = &mount;
  }
  return best ? std::optional<Mount>(*best) : std::nullopt;
}

bool is_network_file_system(std::string_view type) {
  constexpr std::array kNames = {"nfs",       "nfs4", "cifs",  "smb3",   "lustre",
                                 "ceph",      "gpfs", "9p",    "beegfs", "virtiofs",
                                 "glusterfs", "afs",  "wekafs"};
  // FUSE mostly serves object stores; ntfs-3g and similar report the type fuseblk.
  return type.starts_with("fuse.") || std::find(kNames.begin(), kNames.end(), type) != kNames.end();
}

}  // namespace tundish
