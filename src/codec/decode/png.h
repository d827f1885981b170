// PNG decoding by libpng: every depth, color type and interlacing. Like Pillow's convert("RGB"),
// ignores gamma, and ignores alpha and transparency unless requested.
#pragma once

#include "codec/decode/decode.h"

namespace tundish {

// Reads IHDR and an eXIf chunk before the pixels. Does not check sizes.
std::optional<Fault> read_png_header(ImageHeader& out, Bytes bytes);

// fastest: all rows at once (libdeflate, our own filters) if that is faster and the file is
// regular. Otherwise row by row by libpng, which also reports what is wrong with a file.
enum class PngPath { fastest, libpng };
std::optional<Fault> decode_png(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch,
                                PngPath path = PngPath::fastest);

}  // namespace tundish
