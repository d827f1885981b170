// PixelOp::jpeg: encodes an image as JPEG with a given quality and decodes it, like Pillow's save
// and open: 4:2:0, exact integer DCT, libjpeg's standard tables.
#pragma once

#include <cstdint>
#include <vector>

#include "base/image.h"
#include "codec/decode/decode.h"

namespace tundish {

constexpr int kMaxJpegSide = 65'500;  // libjpeg's limit

// Reuses its buffers across images. Not thread-safe.
class JpegRoundTrip {
 public:
  // Works in place. Throws Error if memory runs out.
  void run(std::vector<std::uint8_t>& rgb, Size size, int quality);

  // Upper bound of the memory for one image.
  static std::uint64_t bytes(Size size);

 private:
  std::vector<std::uint8_t> coded_;
  DecodeScratch decode_;
};

// Reference implementation with the arithmetic of the GPU: produces no Huffman code.
void jpeg_reference(std::vector<std::uint8_t>& rgb, Size size, int quality);

}  // namespace tundish
