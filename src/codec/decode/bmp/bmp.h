// BMP by our own code: every kind that Pillow reads, with Pillow's pixels, its mistakes included.
// decode.h is the face; it has checked the size before calling decode_bmp.
#pragma once

#include <array>

#include "codec/decode/decode.h"

namespace tundish {

enum class BmpPixels : std::uint8_t {
  bits,      // 1 bit: 0 or 255
  levels,    // 8 bits of gray
  palette1,  // 1, 4 or 8 bits, a number of the palette
  palette4,
  palette8,
  rgb555,  // 16 bits
  rgb565,
  bytes3,  // 3 or 4 bytes, `channel` says which is which
  bytes4,
};

struct BmpLayout {
  std::uint32_t width = 0, height = 0;
  bool is_top_down = false;
  BmpPixels pixels = BmpPixels::bytes3;
  std::array<int, 4> channel = {2, 1, 0, -1};  // bytes of red, green, blue, alpha (-1: none)
  std::uint8_t run_bits = 0;                   // 4 or 8: run-length coded; 0: not
  std::uint64_t offset = 0;                    // of the pixels in the file
  std::uint64_t stride = 0;                    // bytes from row to row, when not run-length coded
  std::uint64_t row_bytes = 0;                 // that a row uses
  std::array<std::array<std::uint8_t, 3>, 256> palette{};  // entries left out are black
};

// Any bytes give a layout or a fault. Sizes are not checked against limits here.
std::optional<Fault> read_bmp_layout(BmpLayout& out, Bytes bytes);

std::optional<Fault> read_bmp_header(ImageHeader& out, Bytes bytes);

std::optional<Fault> decode_bmp(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch);

// The numbers of all pixels of a run-length coded image, in the order of the file, into `to`
// (width x height). A fault when there are fewer.
std::optional<Fault> decode_bmp_runs(std::uint8_t* to, Bytes bytes, const BmpLayout& layout);

}  // namespace tundish
