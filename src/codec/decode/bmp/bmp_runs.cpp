// Run-length coded BMP, by the rules of Pillow's decoder. They differ from the format's rules where
// a run crosses the end of a row, where a literal run of 4-bit pixels has an odd length, and at the
// end of an already complete row.
#include <algorithm>
#include <cstring>

#include "codec/decode/bmp/bmp.h"

namespace tundish {
namespace {

struct Runs {
  std::uint8_t* to;
  std::uint64_t width, wanted;
  std::uint64_t made = 0;  // pixels, also beyond the end of the image, where none are written
  std::uint64_t x = 0;

  void put(std::uint8_t value) {
    if (made < wanted) to[made] = value;
    ++made;
  }
  void skip(std::uint64_t count) {
    if (made < wanted) std::memset(to + made, 0, std::min(count, wanted - made));
    made += count;
  }
};

std::uint8_t half(std::uint8_t byte, std::uint64_t index) {
  return index % 2 == 0 ? byte >> 4 : byte & 15;
}

void put_run(Runs& runs, std::uint64_t count, std::uint8_t value, bool is_4_bits) {
  const std::uint64_t room = runs.width > runs.x ? runs.width - runs.x : 0;
  count = std::min(count, room);
  for (std::uint64_t i = 0; i < count; ++i) runs.put(is_4_bits ? half(value, i) : value);
  runs.x += count;
}

// Copies literal pixels; returns false if the file ends inside them.
bool put_literals(Runs& runs, std::uint64_t count, Bytes bytes, std::size_t& at, bool is_4_bits) {
  const std::size_t wanted = is_4_bits ? count / 2 : count;
  const std::size_t there = std::min(wanted, bytes.size() - at);
  for (std::size_t i = 0; i < there; ++i) {
    const auto byte = std::to_integer<std::uint8_t>(bytes[at + i]);
    if (is_4_bits) {
      runs.put(half(byte, 0));
      runs.put(half(byte, 1));
    } else {
      runs.put(byte);
    }
  }
  at += there;
  runs.x += count;
  if (at % 2 != 0 && at < bytes.size()) ++at;
  return there == wanted;
}

}  // namespace

std::optional<Fault> decode_bmp_runs(std::uint8_t* to, Bytes bytes, const BmpLayout& layout) {
  const bool is_4_bits = layout.run_bits == 4;
  Runs runs{.to = to, .width = layout.width, .wanted = std::uint64_t{layout.width} * layout.height};
  std::size_t at = std::min<std::uint64_t>(layout.offset, bytes.size());
  while (runs.made < runs.wanted && bytes.size() - at >= 2) {
    const auto count = std::to_integer<std::uint8_t>(bytes[at]);
    const auto value = std::to_integer<std::uint8_t>(bytes[at + 1]);
    at += 2;
    if (count > 0) {
      put_run(runs, count, value, is_4_bits);
    } else if (value == 0) {  // end of a row
      runs.skip((runs.width - runs.made % runs.width) % runs.width);
      runs.x = 0;
    } else if (value == 1) {  // end of the image
      break;
    } else if (value == 2) {  // move right and up
      if (bytes.size() - at < 2) break;
      runs.skip(std::to_integer<std::uint64_t>(bytes[at]) +
                std::to_integer<std::uint64_t>(bytes[at + 1]) * runs.width);
      runs.x = runs.made % runs.width;
      at += 2;
    } else if (!put_literals(runs, value, bytes, at, is_4_bits)) {
      break;
    }
  }
  if (runs.made >= runs.wanted) return std::nullopt;
  return Fault{ErrorCode::image_cut_off, "the runs end before the last pixel", at};
}

}  // namespace tundish
