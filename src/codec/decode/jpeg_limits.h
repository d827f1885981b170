// The limits on images, in the form used by the code that splits and reassembles JPEG files.
#pragma once

#include "codec/decode/decode.h"
#include "codec/lanes/jpeg_file.h"

namespace tundish {

inline lanes::JpegLimits jpeg_limits(const Limits& limits) {
  return {.max_pixels = limits.max_pixels,
          .max_scans = limits.max_scans,
          .max_bytes = limits.max_bytes};
}

}  // namespace tundish
