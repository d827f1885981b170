#include "base/image.h"

namespace tundish {

const char* codec_name(Codec codec) {
  switch (codec) {
    case Codec::unknown:
      return "as it came";
    case Codec::jpeg:
      return "jpeg";
    case Codec::png:
      return "png";
    case Codec::npy:
      return "npy";
    case Codec::lanes:
      return "lanes";
    case Codec::raw:
      return "raw";
    case Codec::webp:
      return "webp";
    case Codec::bmp:
      return "bmp";
    case Codec::gif:
      return "gif";
  }
  return "?";
}

bool is_image_file_codec(std::uint8_t number) {
  switch (static_cast<Codec>(number)) {
    case Codec::jpeg:
    case Codec::png:
    case Codec::npy:
    case Codec::webp:
    case Codec::bmp:
    case Codec::gif:
      return true;
    default:
      return false;
  }
}

}  // namespace tundish
