// JPEG by libjpeg-turbo: exact integer DCT and smooth chroma upsampling, as Pillow decodes.
// decode.h is the face; it has checked the size before calling decode_jpeg.
#pragma once

#include "codec/decode/decode.h"

namespace tundish {

// Walks the markers up to the first scan. Sizes are not checked here.
std::optional<Fault> read_jpeg_header(ImageHeader& out, Bytes bytes);

std::optional<Fault> decode_jpeg(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                 Window window, DecodeScratch& scratch, const Limits& limits);

}  // namespace tundish
