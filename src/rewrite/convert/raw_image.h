// Pixels that a source keeps as an array (codec/decode/raw.h), for targets that hold image files.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "data/source/source.h"

namespace tundish {

// How the elements of such a field lie. Fields and bytes here are those that check_elements()
// (rewrite/convert/npy_elements.h) takes.
struct RawLayout {
  std::uint64_t height = 0, width = 0, channels = 1;
};
RawLayout raw_layout(const Field& field);

// The pixels as a PNG: grays, RGB or RGBA of 8 bits, grays of 16.
void raw_to_png(std::vector<std::byte>& out, const Field& field, Bytes bytes);

// The pixels as an image file that keeps them as they are: 8-bit grays and RGB as a .npy, others as
// a PNG.
void raw_to_file(std::vector<std::byte>& out, const Field& field, Bytes bytes);

// An image as a file: `bytes` themselves, or the PNG of raw pixels, which is in `png`.
Bytes image_file(std::vector<std::byte>& png, const Field& field, Bytes bytes);

// 8-bit elements with the channels first, as Caffe has them.
void raw_to_planes(std::vector<std::byte>& out, const Field& field, Bytes bytes);

}  // namespace tundish
