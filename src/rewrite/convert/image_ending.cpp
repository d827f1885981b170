#include "rewrite/convert/image_ending.h"

#include "codec/decode/decode.h"

namespace tundish {
namespace {

struct Names {
  const char* ending;
  const char* format;
};

Names names_of(Bytes image) {
  switch (sniff(image).value_or(Codec::unknown)) {
    case Codec::jpeg:
    case Codec::lanes:
      return {".jpg", "jpeg"};
    case Codec::png:
      return {".png", "png"};
    case Codec::npy:
      return {".npy", "npy"};
    case Codec::webp:
      return {".webp", "webp"};
    case Codec::bmp:
      return {".bmp", "bmp"};
    case Codec::gif:
      return {".gif", "gif"};
    default:
      return {"", ""};
  }
}

}  // namespace

const char* image_ending(Bytes image) { return names_of(image).ending; }
const char* image_format_name(Bytes image) { return names_of(image).format; }

}  // namespace tundish
