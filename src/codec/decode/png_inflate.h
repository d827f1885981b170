// All rows of a PNG at once, by libdeflate, which is faster than zlib but takes the whole image.
#pragma once

#include <span>

#include "codec/decode/decode.h"
#include "codec/decode/png_kind.h"

namespace tundish {

// A larger image is decoded row by row by libpng.
constexpr std::uint64_t kMaxInflatedPng = 64 << 20;

// Memory for the rows with their filter bytes and for the chunks put together; 0 when the image is
// too large. Not for interlaced images.
std::uint64_t inflated_png_bytes(const PngKind& kind, const ImageHeader& header, Bytes file);

// Fills `rows` from the IDAT chunks at the beginning of `chunks`; `compressed` has room for as many
// bytes as `chunks`. False when something is unusual: a wrong checksum, too few or too many bytes,
// a stream that zlib might refuse. libpng then says what it is.
bool inflate_png(std::span<std::uint8_t> rows, std::uint8_t* compressed, Bytes chunks);

}  // namespace tundish
