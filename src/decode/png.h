// PNG by libpng: every depth, colour type and interlacing. Gamma is passed over, and so are alpha
// and transparency unless they are asked for, as Pillow's convert("RGB") does.
#pragma once

#include "decode/decode.h"

namespace tundish {

// Reads IHDR and an eXIf chunk that is before the pixels. Sizes are not checked here.
std::optional<Fault> read_png_header(ImageHeader& out, Bytes bytes);

std::optional<Fault> decode_png(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch);

}  // namespace tundish
