// The first frame of a GIF by our own code, as Pillow shows it. decode.h is the face; it has
// checked the size before calling decode_gif.
#pragma once

#include <array>

#include "codec/decode/decode.h"

namespace tundish {

struct GifLayout {
  Size screen;   // grows to hold the frame
  Window frame;  // inside the screen; the rest has the transparent color, or color 0
  bool is_interlaced = false;
  std::optional<std::uint8_t> transparent;  // number of a color
  int code_bits = 0;                        // of the first LZW codes, without clear and end
  std::size_t offset = 0;                   // of the first block of pixels
  std::array<std::array<std::uint8_t, 3>, 256> palette{};  // entries left out are black
};

// Any bytes give a layout or a fault. Sizes are not checked against limits here.
std::optional<Fault> read_gif_layout(GifLayout& out, Bytes bytes);

std::optional<Fault> read_gif_header(ImageHeader& out, Bytes bytes);

// An interlaced frame is held as a whole, others are decoded row by row.
std::optional<Fault> decode_gif(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch);

}  // namespace tundish
