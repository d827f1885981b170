// JPEG decoding by libjpeg-turbo: exact integer DCT and smooth chroma upsampling, as in Pillow.
// Called through decode.h, which checks the size before decode_jpeg.
#pragma once

#include "codec/decode/decode.h"

namespace tundish {

// Walks the markers up to the first scan. Does not check sizes.
std::optional<Fault> read_jpeg_header(ImageHeader& out, Bytes bytes);

std::optional<Fault> decode_jpeg(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                 Window window, DecodeScratch& scratch, const Limits& limits);

}  // namespace tundish
