// The elements of a field that is a .npy file in each sample.
#pragma once

#include <vector>

#include "base/array_type.h"
#include "rewrite/convert/target_writer.h"

namespace tundish {

struct NpyElements {
  ArrayType type;
  std::vector<std::byte> elements;  // little-endian, in C order
};

// Throws SampleError when the bytes are no .npy file of numbers.
void read_npy_elements(NpyElements& out, Bytes npy, const ConvertSample& sample);

// Throws SampleError when a field that has a shape has not as many bytes, or is an image that no
// image can have: a pack may say anything.
void check_elements(const Field& field, const ConvertSample& sample, Bytes bytes);

}  // namespace tundish
