// NumPy's .npy files, versions 1 to 3. Images are uint8 in C order with shape (H, W), (H, W, 1) or
// (H, W, 3).
#pragma once

#include "codec/decode/decode.h"

namespace tundish {

// Also checks that the length of the data matches the shape.
std::optional<Fault> read_npy_header(ImageHeader& out, Bytes bytes);

// Checks that NumPy can load the file as any array without unpickling: the head, and that the data
// are complete. For structured types, checks only the head.
std::optional<Fault> check_npy(Bytes bytes);

std::optional<Fault> decode_npy(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch);

}  // namespace tundish
