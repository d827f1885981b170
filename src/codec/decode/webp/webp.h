// WebP decoding by libwebp: lossy, lossless, alpha. Decodes an animation's first frame on its
// canvas, like Pillow. Called through decode.h, which checks the size before decode_webp.
#pragma once

#include "codec/decode/decode.h"

namespace tundish {

// Location and kind of the first frame, from the chunks of the file.
struct WebpFrame {
  Bytes coded;             // the frame's chunks: ALPH if present, then VP8 or VP8L
  Size canvas;             // size of the image
  Window place;            // position of the frame inside the canvas
  bool has_alpha = false;  // true if Pillow would use the alpha
  bool is_lossless = false;
  bool has_alpha_plane = false;  // a lossy frame with an ALPH chunk
  std::uint8_t orientation = 1;
};

// Walks the chunks to the end of the file. Accepts any bytes: returns a frame or a fault. Does not
// check sizes against limits.
std::optional<Fault> find_webp_frame(WebpFrame& out, Bytes bytes);

std::optional<Fault> read_webp_header(ImageHeader& out, Bytes bytes);

// Decodes the whole frame at once, as libwebp requires.
std::optional<Fault> decode_webp(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                 Window window, DecodeScratch& scratch);

// Returns the memory limit of libwebp for a frame. decode_webp() refuses a frame that needs more
// (image_too_large).
std::uint64_t webp_library_bytes(const WebpFrame& frame);

}  // namespace tundish
