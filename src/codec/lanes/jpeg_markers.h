// Parses the markers of a JPEG file that affect its scans. Accepts any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "codec/lanes/geometry.h"

namespace tundish::lanes {

// Values of the byte after 0xff.
enum Marker : std::uint8_t {
  kSof0 = 0xc0,  // baseline
  kSof2 = 0xc2,  // progressive
  kDht = 0xc4,
  kRst0 = 0xd0,
  kRst7 = 0xd7,
  kSoi = 0xd8,
  kEoi = 0xd9,
  kSos = 0xda,
  kDri = 0xdd,
};

// Start of frame: C0 to CF except DHT, JPG and DAC.
constexpr bool is_frame(std::uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != kDht && marker != 0xc8 && marker != 0xcc;
}

constexpr bool is_restart(std::uint8_t marker) { return marker >= kRst0 && marker <= kRst7; }

// One marker with its segment.
struct Segment {
  std::uint8_t marker;
  Bytes body;       // after marker and length
  std::size_t end;  // where the next marker may start
};

// Returns the segment whose first 0xff is at `at`; empty if no whole segment starts there.
std::optional<Segment> segment_at(Bytes bytes, std::size_t at);

// Returns the end of the entropy-coded data that start at `at`: before the next marker, its fill
// bytes, and restart markers without data after them. Appends the last data byte of every restart
// interval to `last_bytes`.
std::size_t find_scan_end(Bytes bytes, std::size_t at, std::vector<std::uint8_t>& last_bytes);

inline constexpr int kMaxFrameComponents = 4;

struct FrameComponent {
  std::uint8_t id;
  int h, v;  // sampling factors, 1 to 4
};

struct Frame {
  std::uint8_t marker = 0;
  int precision = 0;
  int width = 0, height = 0;
  int components = 0;                                  // 1 to 255
  FrameComponent component[kMaxFrameComponents] = {};  // the first four components
};

// Returns false if the segment is too short or a sampling factor out of range. Sizes may be 0.
bool read_frame(Frame& out, const Segment& segment);

// Determines the sampling from the ratios of the factors; empty if Sampling does not cover them.
std::optional<Sampling> sampling_of(const Frame& frame);

struct ScanComponent {
  int component;  // index into Frame::component
  int dc, ac;     // Huffman tables, 0 to 3
};

struct ScanHeader {
  int components = 0;  // 1 to 4
  ScanComponent component[kMaxFrameComponents] = {};
  int first = 0, last = 63;  // coefficients in zigzag order
  int high = 0, low = 0;     // successive approximation: bits known before and after the scan
};

// Returns false if libjpeg would not accept the segment as a scan of this frame.
bool read_scan_header(ScanHeader& out, const Segment& segment, const Frame& frame);

}  // namespace tundish::lanes
