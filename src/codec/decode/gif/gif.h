// Our own decoder for the first frame of a GIF, as Pillow shows it. Called through decode.h, which
// checks the size before decode_gif.
#pragma once

#include <array>

#include "codec/decode/decode.h"

namespace tundish {

struct GifLayout {
  Size screen;   // grows to hold the frame
  Window frame;  // inside the screen; the rest has the transparent color, or color 0
  bool is_interlaced = false;
  std::optional<std::uint8_t> transparent;  // a color index
  int code_bits = 0;                        // initial LZW code size, without clear and end codes
  std::size_t offset = 0;                   // start of the first block of pixels
  std::array<std::array<std::uint8_t, 3>, 256> palette{};  // missing entries are black
};

// Accepts any bytes: returns a layout or a fault. Does not check sizes against limits.
std::optional<Fault> read_gif_layout(GifLayout& out, Bytes bytes);

std::optional<Fault> read_gif_header(ImageHeader& out, Bytes bytes);

// Holds an interlaced frame as a whole; decodes other frames row by row.
std::optional<Fault> decode_gif(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch);

}  // namespace tundish
