// EXIF orientation: turns an image upright.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/decode/decode.h"

namespace tundish {

// Orientations 5 to 8 exchange width and height.
Size upright_size(Size stored, std::uint8_t orientation);

// Decodes the whole image and turns it. `out` becomes upright_size() pixels of RGB and, with
// header.keep_alpha, the alpha of all of them behind the last one.
std::optional<Fault> decode_upright(std::vector<std::uint8_t>& out, Bytes bytes,
                                    const ImageHeader& header, std::uint8_t orientation,
                                    DecodeScratch& scratch, const Limits& limits);

}  // namespace tundish
