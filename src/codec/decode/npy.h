// NumPy's .npy files, versions 1 to 3. Images: uint8, C order, shape (H, W), (H, W, 1) or (H, W,
// 3).
#pragma once

#include "codec/decode/decode.h"

namespace tundish {

// Also checks that the length of the data fits the shape.
std::optional<Fault> read_npy_header(ImageHeader& out, Bytes bytes);

// Whether NumPy can load it as an array of any kind without unpickling: its head, and that the data
// are complete. Of structured types only the head is checked.
std::optional<Fault> check_npy(Bytes bytes);

std::optional<Fault> decode_npy(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch);

}  // namespace tundish
