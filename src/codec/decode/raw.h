// Pixels stored as arrays of one shape without a header: uint8 grays, RGB or
// RGBA, or uint16 grays. The schema of the dataset describes them.
#pragma once

#include "base/array_type.h"
#include "codec/decode/decode.h"

namespace tundish {

// Shapes: (H, W), (H, W, C), or with channels_first (C, H, W); C is 1, 3 or 4. Returns image_kind
// for other arrays, image_cut_off or image_damaged if there are too few or too many bytes.
std::optional<Fault> read_raw_header(ImageHeader& out, const ArrayType& type, bool channels_first,
                                     Bytes bytes);

std::optional<Fault> decode_raw(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch);

}  // namespace tundish
