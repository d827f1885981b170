#include <cstring>

#include "lanes/jpeg_file.h"
#include "lanes/jpeg_scan.h"

namespace tundish::lanes {
namespace {

Fault damaged(const char* reason, std::size_t offset = 0) {
  return {ErrorCode::image_damaged, reason, offset};
}

// Frame and coefficients must be of one image: nothing is read outside of the blocks.
bool is_frame_of(const Frame& frame, const Coefficients& coefficients) {
  if (frame.marker > kSof2 || frame.precision != 8 || frame.width < 1 || frame.height < 1) {
    return false;
  }
  const std::optional<Sampling> sampling = sampling_of(frame);
  const Geometry& geometry = coefficients.geometry;
  return sampling == geometry.sampling && frame.width == geometry.width &&
         frame.height == geometry.height;
}

bool is_whole(const Coefficients& coefficients) {
  const Geometry& geometry = coefficients.geometry;
  if (geometry.components < 1 || geometry.components > kMaxComponents) return false;
  for (int c = 0; c < geometry.components; ++c) {
    const Component& component = geometry.component[c];
    if (std::ssize(coefficients.blocks[c]) !=
        std::int64_t{component.blocks_x} * component.blocks_y) {
      return false;
    }
  }
  return true;
}

// What the markers so far have said.
struct State {
  std::optional<Frame> frame;
  CodeTables tables;
  int restart_interval = 0;
  std::uint32_t scans = 0;
};

// Takes a segment in; says what is wrong with it.
const char* read_segment(State& state, const Segment& segment, const Coefficients& coefficients) {
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
  }
  return nullptr;
}

}  // namespace

std::optional<Fault> put_together(std::vector<std::byte>& file, const Coefficients& coefficients,
                                  Bytes restore_bytes, const JpegLimits& limits) {
  Restore restore;
  if (auto fault = read_restore(restore, restore_bytes)) return fault;
  if (!is_whole(coefficients)) return damaged("blocks of coefficients are missing");
  const Bytes literal = restore.literal;
  const std::size_t before = restore_bytes.size() - literal.size();

  State state;
  PaddingReader padding(restore.padding);
  Output out(file, limits.max_bytes);
  std::size_t copied = 0;
  for (std::size_t at = 0; const auto segment = segment_at(literal, at);) {
    const char* wrong = read_segment(state, *segment, coefficients);
    at = segment->end;
    if (segment->marker == kEoi) break;
    if (wrong == nullptr && segment->marker == kSos) {
      ScanHeader header;
      if (!state.frame || !read_scan_header(header, *segment, *state.frame)) {
        wrong = "a scan header is damaged";
      } else if (++state.scans > limits.max_scans) {
        wrong = "there are too many scans";
      } else if (!out.append(literal.subspan(copied, at - copied))) {
        wrong = "the file is longer than it may be";
      } else {
        copied = at;
        wrong = write_scan(out, {.coefficients = coefficients,
                                 .frame = *state.frame,
                                 .header = header,
                                 .tables = state.tables,
                                 .restart_interval = state.restart_interval,
                                 .edges = restore.edges,
                                 .padding = padding});
      }
    }
    if (wrong != nullptr) return damaged(wrong, before + at);
  }
  if (!out.append(literal.subspan(copied)) || !out.finish()) {
    return damaged("the file is longer than it may be", before + literal.size());
  }
  return std::nullopt;
}

bool restores(const Coefficients& coefficients, Bytes restore, Bytes file,
              std::vector<std::byte>& scratch) {
  const JpegLimits limits{.max_bytes = file.size()};
  if (put_together(scratch, coefficients, restore, limits)) return false;
  return scratch.size() == file.size() &&
         std::memcmp(scratch.data(), file.data(), file.size()) == 0;
}

}  // namespace tundish::lanes
