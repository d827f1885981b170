#include "core/image.h"

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
  }
  return "?";
}

}  // namespace tundish
