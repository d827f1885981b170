#include "augment/pixels/blur/jpeg_round_trip.h"
#include "codec/lanes/decode_reference.h"
#include "codec/lanes/jpeg_encode.h"

namespace tundish {

void jpeg_reference(std::vector<std::uint8_t>& rgb, Size size, int quality) {
  lanes::Coefficients image;
  std::vector<std::byte> restore;
  lanes::JpegEncoder().encode(image, restore, rgb.data(), size, {.quality = quality});
  rgb = lanes::decode_reference(image);
}

}  // namespace tundish
