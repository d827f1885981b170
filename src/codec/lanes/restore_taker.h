// Takes the numbers of restore data from the front of bytes; the format is in jpeg_file.h.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tundish::lanes {

// Past the end, or after a number that is too long, sets `bad` and returns zeros.
struct Taker {
  Bytes bytes;
  bool bad = false;

  std::uint8_t u8() {
    if (bytes.empty()) {
      bad = true;
      return 0;
    }
    const auto value = std::to_integer<std::uint8_t>(bytes[0]);
    bytes = bytes.subspan(1);
    return value;
  }

  std::uint32_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::uint8_t byte = u8();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) {
        bad |= value > UINT32_MAX;
        return static_cast<std::uint32_t>(value);
      }
    }
    bad = true;
    return 0;
  }

  std::int16_t small() {  // a signed 16-bit number
    const std::uint32_t folded = varint();
    bad |= folded > 0xffff;
    return static_cast<std::int16_t>(folded >> 1 ^ (0u - (folded & 1)));
  }
};

}  // namespace tundish::lanes
