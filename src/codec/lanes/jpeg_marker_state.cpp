#include "codec/lanes/jpeg_marker_state.h"

namespace tundish::lanes {
namespace {

// Checks that frame and coefficients match, so that nothing outside of the blocks is read.
bool is_frame_of(const Frame& frame, const Coefficients& coefficients) {
  if (frame.marker > kSof2 || frame.precision != 8 || frame.width < 1 || frame.height < 1) {
    return false;
  }
  const Geometry& geometry = coefficients.geometry;
  return sampling_of(frame) == geometry.sampling && frame.width == geometry.width &&
         frame.height == geometry.height;
}

const char* read_segment(MarkerState& state, const Segment& segment,
                         const Coefficients& coefficients) {
  if (is_frame(segment.marker)) {
    Frame frame;
    if (state.frame || !read_frame(frame, segment) || !is_frame_of(frame, coefficients)) {
      return "the frame header is not that of the coefficients";
    }
    state.frame = frame;
  } else if (segment.marker == kDht) {
    if (!read_codes(state.tables, segment.body)) return "a Huffman table is damaged";
  } else if (segment.marker == kDri) {
    if (segment.body.size() != 2) return "the restart interval is damaged";
    state.restart_interval =
        std::to_integer<int>(segment.body[0]) << 8 | std::to_integer<int>(segment.body[1]);
  } else if (segment.marker == kSos) {
    if (!state.frame || !read_scan_header(state.scan, segment, *state.frame)) {
      return "a scan header is damaged";
    }
  }
  return nullptr;
}

}  // namespace

bool next_scan(MarkerState& state, Bytes literal, const Coefficients& coefficients) {
  while (const auto segment = segment_at(literal, state.at)) {
    if (segment->marker == kEoi) return false;
    state.at = segment->end;
    state.wrong = read_segment(state, *segment, coefficients);
    if (state.wrong != nullptr) return false;
    if (segment->marker != kSos) continue;
    ++state.scans;
    return true;
  }
  return false;
}

}  // namespace tundish::lanes
