// EXIF orientation: rotates or mirrors an image to be upright.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/decode/decode.h"

namespace tundish {

// Returns the upright size: orientations 5 to 8 exchange width and height.
Size upright_size(Size stored, std::uint8_t orientation);

// Decodes the whole image upright. `out` gets upright_size() pixels of RGB. With
// header.keep_alpha, the alpha of all pixels follows the last pixel.
std::optional<Fault> decode_upright(std::vector<std::uint8_t>& out, Bytes bytes,
                                    const ImageHeader& header, std::uint8_t orientation,
                                    DecodeScratch& scratch, const Limits& limits);

}  // namespace tundish
