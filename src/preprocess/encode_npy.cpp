#include "preprocess/encode_npy.h"

#include <fmt/format.h>

#include <cstring>

#include "core/bytes.h"

namespace tundish {
namespace {

constexpr char kMagic[] = "\x93NUMPY\x01";  // with its final zero: version 1.0
constexpr std::size_t kFixedBytes = sizeof(kMagic) + 2;
constexpr std::size_t kAlignment = 64;  // of the data

}  // namespace

void encode_npy(std::vector<std::byte>& out, const Pixels& pixels, bool grey) {
  std::string text =
      fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}{}), }}",
                  pixels.size.height, pixels.size.width, grey ? "" : ", 3");
  const std::size_t unpadded = kFixedBytes + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  const std::size_t head = kFixedBytes + text.size();
  out.resize(head + pixels.rgb.size() / (grey ? 3 : 1));
  std::memcpy(out.data(), kMagic, sizeof(kMagic));
  store(out.data() + sizeof(kMagic), static_cast<std::uint16_t>(text.size()));
  std::memcpy(out.data() + kFixedBytes, text.data(), text.size());
  if (!grey) {
    std::memcpy(out.data() + head, pixels.rgb.data(), pixels.rgb.size());
    return;
  }
  for (std::size_t i = 0; i < pixels.rgb.size() / 3; ++i) {
    out[head + i] = static_cast<std::byte>(pixels.rgb[3 * i]);
  }
}

}  // namespace tundish
