// Our own BMP decoder: reads every kind of BMP that Pillow reads. The pixels are identical, even
// where Pillow is wrong. Called through decode.h, which checks the size before decode_bmp.
#pragma once

#include <array>

#include "codec/decode/decode.h"

namespace tundish {

enum class BmpPixels : std::uint8_t {
  bits,      // 1 bit: 0 or 255
  levels,    // 8 bits of gray
  palette1,  // 1, 4 or 8 bits, an index into the palette
  palette4,
  palette8,
  rgb555,  // 16 bits
  rgb565,
  bytes3,  // 3 or 4 bytes; `channel` gives their order
  bytes4,
};

struct BmpLayout {
  std::uint32_t width = 0, height = 0;
  bool is_top_down = false;
  BmpPixels pixels = BmpPixels::bytes3;
  std::array<int, 4> channel = {2, 1, 0, -1};  // bytes of red, green, blue, alpha (-1: none)
  std::uint8_t run_bits = 0;                   // run-length coding, 4 or 8 bits; 0: none
  std::uint64_t offset = 0;                    // start of the pixels in the file
  std::uint64_t stride = 0;                    // bytes between rows, if not run-length coded
  std::uint64_t row_bytes = 0;                 // bytes used by a row
  std::array<std::array<std::uint8_t, 3>, 256> palette{};  // missing entries are black
};

// Accepts any bytes: returns a layout or a fault. Does not check sizes against limits.
std::optional<Fault> read_bmp_layout(BmpLayout& out, Bytes bytes);

std::optional<Fault> read_bmp_header(ImageHeader& out, Bytes bytes);

std::optional<Fault> decode_bmp(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch);

// Writes the palette indices of all pixels of a run-length coded image, in file order, to `to`
// (width x height). Returns a fault if there are fewer pixels.
std::optional<Fault> decode_bmp_runs(std::uint8_t* to, Bytes bytes, const BmpLayout& layout);

}  // namespace tundish
