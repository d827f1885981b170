#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/jpeg_markers.h"
#include "codec/lanes/jpeg_restore.h"

namespace tundish::lanes {
namespace {

// True for application data and comments, except JFIF and Adobe's color marker.
bool is_metadata(std::uint8_t marker) {
  constexpr std::uint8_t kApp0 = 0xe0, kApp14 = 0xee, kApp15 = 0xef, kComment = 0xfe;
  return marker == kComment || (marker > kApp0 && marker <= kApp15 && marker != kApp14);
}

}  // namespace

void strip_metadata(std::vector<std::byte>& restore, const Geometry& geometry) {
  Restore parts;
  if (read_restore(parts, restore, geometry, JpegLimits{}.max_scans)) {
    return;  // put_together() will report the reason
  }
  const auto before = static_cast<std::ptrdiff_t>(restore.size() - parts.literal.size());
  std::vector<std::byte> kept(restore.begin(), restore.begin() + before);
  for (std::size_t at = 0; at < parts.literal.size();) {
    const std::optional<Segment> segment = segment_at(parts.literal, at);
    if (!segment) break;
    if (!is_metadata(segment->marker)) {
      const Bytes bytes = parts.literal.subspan(at, segment->end - at);
      kept.insert(kept.end(), bytes.begin(), bytes.end());
    }
    at = segment->end;
    if (segment->marker == kEoi) break;
  }
  restore.swap(kept);
}

}  // namespace tundish::lanes
