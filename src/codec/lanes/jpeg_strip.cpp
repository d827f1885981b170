#include <span>
#include <string_view>

#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/jpeg_markers.h"
#include "codec/lanes/jpeg_restore.h"

namespace tundish::lanes {
namespace {

constexpr std::uint8_t kApp0 = 0xe0;

// True for application data and comments, except JFIF and Adobe's color marker.
bool is_metadata(std::uint8_t marker) {
  constexpr std::uint8_t kApp14 = 0xee, kApp15 = 0xef, kComment = 0xfe;
  return marker == kComment || (marker > kApp0 && marker <= kApp15 && marker != kApp14);
}

// Appends EXIF data with nothing but the orientation.
void add_orientation(std::vector<std::byte>& out, std::uint8_t orientation) {
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kStart =
      "\xff\xe1\0\x22"
      "Exif\0\0"  // 34 bytes follow the marker
      "II*\0\x08\0\0\0"
      "\x01\0"                       // TIFF, little-endian: a list of one entry at byte 8
      "\x12\x01\x03\0\x01\0\0\0"sv;  // the orientation, one word
  const Bytes start = std::as_bytes(std::span(kStart));
  out.insert(out.end(), start.begin(), start.end());
  out.push_back(std::byte{orientation});
  out.insert(out.end(), 7, std::byte{0});  // the rest of the word's field; no further list
}

}  // namespace

void strip_metadata(std::vector<std::byte>& restore, const Geometry& geometry,
                    std::uint8_t orientation) {
  Restore parts;
  if (read_restore(parts, restore, geometry, JpegLimits{}.max_scans)) {
    return;  // put_together() will report the reason
  }
  const auto before = static_cast<std::ptrdiff_t>(restore.size() - parts.literal.size());
  std::vector<std::byte> kept(restore.begin(), restore.begin() + before);
  bool is_turned = orientation >= 2 && orientation <= 8;
  for (std::size_t at = 0; at < parts.literal.size();) {
    const std::optional<Segment> segment = segment_at(parts.literal, at);
    if (!segment) break;
    if (is_turned && segment->marker != kSoi && segment->marker != kApp0) {  // JFIF comes first
      add_orientation(kept, orientation);
      is_turned = false;
    }
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
