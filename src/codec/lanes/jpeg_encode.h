// Pixels to the coefficients of a JPEG, and to the restore data of the file that libjpeg-turbo
// would write: no file is written and no Huffman code is made on the way to a lanes record.
#pragma once

#include <cstdint>
#include <vector>

#include "base/image.h"
#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// put_together() of the results gives the file of Pillow's save(quality=..., subsampling=...):
// baseline, one scan, the Huffman tables of Annex K, no metadata but JFIF's.
struct JpegSettings {
  int quality = 90;                         // 1 to 100, libjpeg's
  Sampling sampling = Sampling::half_both;  // gray, full, half_wide or half_both
};

// Keeps its memory from image to image. One thread.
class JpegEncoder {
 public:
  // Replaces `out` and `restore`. `rgb`: rows of width x 3 bytes without gaps, sides from 1 to
  // 65,535. With Sampling::gray the first channel is encoded.
  void encode(Coefficients& out, std::vector<std::byte>& restore, const std::uint8_t* rgb,
              Size size, const JpegSettings& settings);

 private:
  void fill_planes(const std::uint8_t* rgb, const Geometry& geometry);

  std::vector<std::uint8_t> planes_[kMaxComponents];  // whole blocks, as the DCT takes them
  std::vector<std::uint8_t> rows_[kMaxComponents];    // that chroma is averaged from
};

}  // namespace tundish::lanes
