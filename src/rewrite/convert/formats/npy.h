// A folder of .npy files: image.npy, label.npy and one for each other field, one entry per sample.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// All samples have the shape of the first; add() throws Error(argument) for one that has not.
// Encoded images are decoded to (H, W, 3) of uint8. Fields of text and bytes are left out.
std::unique_ptr<TargetWriter> make_npy_writer(const Conversion& conversion);

// The head of a .npy file with spaces up to `bytes`, so that it can be written again with another
// number of samples. Too short a head throws std::logic_error.
std::string padded_npy_head(const ArrayType& type, std::size_t bytes);

}  // namespace tundish
