// WebP by libwebp: lossy, lossless, alpha; of an animation the first frame on its canvas, as Pillow
// shows it. decode.h is the face; it has checked the size before calling decode_webp.
#pragma once

#include "codec/decode/decode.h"

namespace tundish {

// Where the first frame is and what it is, from the chunks of the file.
struct WebpFrame {
  Bytes coded;             // its chunks: ALPH where there is one, then VP8 or VP8L
  Size canvas;             // of the image
  Window place;            // of the frame, inside the canvas
  bool has_alpha = false;  // what Pillow takes alpha from; other alpha is ignored
  bool is_lossless = false;
  bool has_alpha_plane = false;  // a lossy frame with an ALPH chunk
  std::uint8_t orientation = 1;
};

// Walks the chunks to the end of the file. Any bytes give a frame or a fault. Sizes are not checked
// against limits here.
std::optional<Fault> find_webp_frame(WebpFrame& out, Bytes bytes);

std::optional<Fault> read_webp_header(ImageHeader& out, Bytes bytes);

// libwebp decodes a frame as a whole.
std::optional<Fault> decode_webp(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                 Window window, DecodeScratch& scratch);

// What libwebp itself takes at most for such a frame: decode_webp() refuses a frame that asks for
// more (image_too_large).
std::uint64_t webp_library_bytes(const WebpFrame& frame);

}  // namespace tundish
