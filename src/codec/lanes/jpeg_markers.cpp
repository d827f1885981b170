#include "codec/lanes/jpeg_markers.h"

#include <cstring>

namespace tundish::lanes {
namespace {

std::uint8_t u8(Bytes bytes, std::size_t at) { return std::to_integer<std::uint8_t>(bytes[at]); }
int u16(Bytes bytes, std::size_t at) { return u8(bytes, at) << 8 | u8(bytes, at + 1); }

// True for markers without a length.
bool is_alone(std::uint8_t marker) {
  return marker == 0x01 || is_restart(marker) || marker == kSoi || marker == kEoi;
}

// Checks libjpeg's rules for a progressive scan.
bool is_progression(const ScanHeader& scan) {
  if (scan.first == 0 ? scan.last != 0
                      : scan.last < scan.first || scan.last > 63 || scan.components != 1) {
    return false;
  }
  return scan.low <= 13 && (scan.high == 0 || scan.high == scan.low + 1);
}

}  // namespace

std::optional<Segment> segment_at(Bytes bytes, std::size_t at) {
  if (at >= bytes.size() || u8(bytes, at) != 0xff) return std::nullopt;
  while (at < bytes.size() && u8(bytes, at) == 0xff) ++at;
  if (at >= bytes.size() || u8(bytes, at) == 0) return std::nullopt;
  const std::uint8_t marker = u8(bytes, at++);
  if (is_alone(marker)) return Segment{marker, {}, at};
  if (bytes.size() - at < 2) return std::nullopt;
  const auto length = static_cast<std::size_t>(u16(bytes, at));
  if (length < 2 || length > bytes.size() - at) return std::nullopt;
  return Segment{marker, bytes.subspan(at + 2, length - 2), at + length};
}

std::size_t find_scan_end(Bytes bytes, std::size_t at, std::vector<std::uint8_t>& last_bytes) {
  const std::size_t begin = at;
  const auto end_interval = [&](std::size_t end) {
    if (end == begin) return;
    const bool stuffed = end - begin >= 2 && u8(bytes, end - 1) == 0 && u8(bytes, end - 2) == 0xff;
    last_bytes.push_back(stuffed ? 0xff : u8(bytes, end - 1));
  };
  std::size_t restart_begin = 0;  // start and end of the last restart markers
  std::size_t restart_end = 0;    // with no data between them
  while (at < bytes.size()) {
    const void* found = std::memchr(bytes.data() + at, 0xff, bytes.size() - at);
    if (found == nullptr) break;
    const auto marker_at =
        static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data());
    std::size_t code_at = marker_at + 1;
    while (code_at < bytes.size() && u8(bytes, code_at) == 0xff) ++code_at;
    const std::uint8_t code = code_at < bytes.size() ? u8(bytes, code_at) : std::uint8_t{kEoi};
    if (code != 0 && !is_restart(code)) {
      if (marker_at == restart_end) return restart_begin;  // this interval was already counted
      end_interval(marker_at);
      return marker_at;
    }
    at = code_at + 1;
    if (code == 0) continue;
    if (marker_at != restart_end) {
      end_interval(marker_at);
      restart_begin = marker_at;
    }
    restart_end = at;
  }
  if (restart_end == bytes.size()) return restart_begin;
  end_interval(bytes.size());
  return bytes.size();
}

bool read_frame(Frame& out, const Segment& segment) {
  const Bytes body = segment.body;
  if (body.size() < 6) return false;
  out = {.marker = segment.marker,
         .precision = u8(body, 0),
         .width = u16(body, 3),
         .height = u16(body, 1),
         .components = u8(body, 5)};
  if (body.size() != 6 + 3 * static_cast<std::size_t>(out.components)) return false;
  for (int c = 0; c < out.components && c < kMaxFrameComponents; ++c) {
    const std::size_t at = 6 + 3 * static_cast<std::size_t>(c);
    out.component[c] = {u8(body, at), u8(body, at + 1) >> 4, u8(body, at + 1) & 15};
    const FrameComponent& component = out.component[c];
    if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4) return false;
  }
  return out.components > 0;
}

std::optional<Sampling> sampling_of(const Frame& frame) {
  if (frame.components == 1) return Sampling::gray;
  if (frame.components != 3) return std::nullopt;
  const FrameComponent& luma = frame.component[0];
  const FrameComponent& chroma = frame.component[1];
  if (chroma.h != frame.component[2].h || chroma.v != frame.component[2].v) return std::nullopt;
  const auto is = [&](int h, int v) { return luma.h == h * chroma.h && luma.v == v * chroma.v; };
  if (is(1, 1)) return Sampling::full;
  if (is(2, 1)) return Sampling::half_wide;
  if (is(2, 2)) return Sampling::half_both;
  if (is(1, 2)) return Sampling::half_high;
  if (is(4, 1)) return Sampling::quarter_wide;
  return std::nullopt;
}

bool read_scan_header(ScanHeader& out, const Segment& segment, const Frame& frame) {
  const Bytes body = segment.body;
  if (body.empty()) return false;
  out = {.components = u8(body, 0)};
  if (out.components < 1 || out.components > kMaxFrameComponents) return false;
  const std::size_t tail = 1 + 2 * static_cast<std::size_t>(out.components);
  if (body.size() != tail + 3) return false;
  for (int i = 0; i < out.components; ++i) {
    const std::size_t at = 1 + 2 * static_cast<std::size_t>(i);
    int which = 0;
    while (which < frame.components && which < kMaxFrameComponents &&
           frame.component[which].id != u8(body, at)) {
      ++which;
    }
    if (which == frame.components || which == kMaxFrameComponents) return false;
    for (int j = 0; j < i; ++j) {
      if (out.component[j].component == which) return false;
    }
    out.component[i] = {which, u8(body, at + 1) >> 4, u8(body, at + 1) & 15};
    if (out.component[i].dc > 3 || out.component[i].ac > 3) return false;
  }
  out.first = u8(body, tail);
  out.last = u8(body, tail + 1);
  out.high = u8(body, tail + 2) >> 4;
  out.low = u8(body, tail + 2) & 15;
  if (frame.marker == kSof2) return is_progression(out);
  return out.first == 0 && out.last == 63 && out.high == 0 && out.low == 0;
}

}  // namespace tundish::lanes
