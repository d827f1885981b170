// Writes a folder of .npy files: image.npy, label.npy and one per other field, an entry per sample.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// All samples must have the shape of the first; add() throws Error(argument) for other shapes.
// Decodes encoded images to (H, W, 3) of uint8. Omits fields of text and bytes.
std::unique_ptr<TargetWriter> make_npy_writer(const Conversion& conversion);

// Returns the head of a .npy file, padded with spaces to `bytes`, so that it can be rewritten with
// another number of samples. Throws std::logic_error if `bytes` is too small.
std::string padded_npy_head(const ArrayType& type, std::size_t bytes);

}  // namespace tundish
