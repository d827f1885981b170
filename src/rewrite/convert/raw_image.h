// Converts pixels stored as an array (codec/decode/raw.h) for targets that hold image files.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "data/source/source.h"

namespace tundish {

// The layout of the elements of such a field. Functions here require fields and bytes that pass
// check_elements() (rewrite/convert/npy_elements.h).
struct RawLayout {
  std::uint64_t height = 0, width = 0, channels = 1;
};
RawLayout raw_layout(const Field& field);

// Converts the pixels to a PNG: 8-bit gray, RGB or RGBA, or 16-bit gray.
void raw_to_png(std::vector<std::byte>& out, const Field& field, Bytes bytes);

// Converts the pixels losslessly to an image file: 8-bit gray and RGB to a .npy, others to
// a PNG.
void raw_to_file(std::vector<std::byte>& out, const Field& field, Bytes bytes);

// Returns an image as a file: `bytes`, or for raw pixels a PNG, which is stored in `png`.
Bytes image_file(std::vector<std::byte>& png, const Field& field, Bytes bytes);

// Converts to 8-bit elements with the channels first, the order of Caffe.
void raw_to_planes(std::vector<std::byte>& out, const Field& field, Bytes bytes);

}  // namespace tundish
