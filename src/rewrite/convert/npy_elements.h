// Reads the elements of a field that is a .npy file in each sample.
#pragma once

#include <vector>

#include "base/array_type.h"
#include "rewrite/convert/target_writer.h"

namespace tundish {

struct NpyElements {
  ArrayType type;
  std::vector<std::byte> elements;  // little-endian, in C order
};

// Throws SampleError if the bytes are not a .npy file of numbers.
void read_npy_elements(NpyElements& out, Bytes npy, const ConvertSample& sample);

// Throws SampleError if a field with a shape has another number of bytes, or an image field has an
// impossible shape: the schema of a pack is not trusted.
void check_elements(const Field& field, const ConvertSample& sample, Bytes bytes);

}  // namespace tundish
