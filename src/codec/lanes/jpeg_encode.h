// Converts pixels to the coefficients of a JPEG, and to the restore data of the file that
// libjpeg-turbo would write. No file is written and no Huffman code is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/image.h"
#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// put_together() turns the results into the file of Pillow's save(quality=..., subsampling=...):
// baseline, one scan, the Huffman tables of Annex K, no metadata except JFIF's.
struct JpegSettings {
  int quality = 90;                         // 1 to 100, as in libjpeg
  Sampling sampling = Sampling::half_both;  // gray, full, half_wide or half_both
};

// Reuses its memory from image to image. Not thread-safe.
class JpegEncoder {
 public:
  // Replaces `out` and `restore`. `rgb`: rows of width x 3 bytes without gaps; both sides are 1 to
  // 65,535. With Sampling::gray, encodes the first channel.
  void encode(Coefficients& out, std::vector<std::byte>& restore, const std::uint8_t* rgb,
              Size size, const JpegSettings& settings);

 private:
  void fill_planes(const std::uint8_t* rgb, const Geometry& geometry);

  std::vector<std::uint8_t> planes_[kMaxComponents];  // whole blocks, the input of the DCT
  std::vector<std::uint8_t> rows_[kMaxComponents];    // input rows for averaging chroma
};

}  // namespace tundish::lanes
