// PixelOp::jpeg: an image as a JPEG of some quality, and back, as Pillow saves and opens it: 4:2:0,
// exact integer DCT, libjpeg's standard tables.
#pragma once

#include <cstdint>
#include <vector>

#include "base/image.h"
#include "codec/decode/decode.h"

namespace tundish {

constexpr int kMaxJpegSide = 65'500;  // libjpeg's

// Keeps its buffers from image to image. One thread.
class JpegRoundTrip {
 public:
  // In place. Throws Error when there is no memory.
  void run(std::vector<std::uint8_t>& rgb, Size size, int quality);

  // Memory for one image, at most.
  static std::uint64_t bytes(Size size);

 private:
  std::vector<std::uint8_t> coded_;
  DecodeScratch decode_;
};

// The obviously right twin, with the arithmetic that a GPU has too: no Huffman code is made.
void jpeg_reference(std::vector<std::uint8_t>& rgb, Size size, int quality);

}  // namespace tundish
