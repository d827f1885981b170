#include "augment/pixels/blur/jpeg_round_trip.h"
#include "lanes/decode_slowly.h"
#include "lanes/jpeg_encode.h"

namespace tundish {

void jpeg_slowly(std::vector<std::uint8_t>& rgb, Size size, int quality) {
  lanes::Coefficients image;
  std::vector<std::byte> restore;
  lanes::JpegEncoder().encode(image, restore, rgb.data(), size, {.quality = quality});
  rgb = lanes::decode_slowly(image);
}

}  // namespace tundish
