// Inflates all rows of a PNG at once by libdeflate: faster than zlib, but needs the whole image.
#pragma once

#include <span>

#include "codec/decode/decode.h"
#include "codec/decode/png_kind.h"

namespace tundish {

// Larger images are decoded row by row by libpng.
constexpr std::uint64_t kMaxInflatedPng = 64 << 20;

// Returns the memory for the rows with their filter bytes and for the concatenated chunks; 0 if the
// image is too large. Not for interlaced images.
std::uint64_t inflated_png_bytes(const PngKind& kind, const ImageHeader& header, Bytes file);

// Fills `rows` from the IDAT chunks at the start of `chunks`; `compressed` must be as large as
// `chunks`. Returns false for anything unusual: a wrong checksum, too few or too many bytes, a
// stream that zlib might refuse. libpng then reports the reason.
bool inflate_png(std::span<std::uint8_t> rows, std::uint8_t* compressed, Bytes chunks);

}  // namespace tundish
