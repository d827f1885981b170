// PNG by libpng: every depth, color type and interlacing. Gamma is passed over, and so are alpha
// and transparency unless they are asked for, as Pillow's convert("RGB") does.
#pragma once

#include "codec/decode/decode.h"

namespace tundish {

// Reads IHDR and an eXIf chunk that is before the pixels. Sizes are not checked here.
std::optional<Fault> read_png_header(ImageHeader& out, Bytes bytes);

// All rows at once (libdeflate, our own filters) where that is faster and the file has nothing
// unusual; otherwise row by row by libpng, which also says what is wrong with a file.
enum class PngPath { fastest, libpng };
std::optional<Fault> decode_png(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch,
                                PngPath path = PngPath::fastest);

}  // namespace tundish
