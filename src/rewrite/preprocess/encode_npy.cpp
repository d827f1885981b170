#include "rewrite/preprocess/encode_npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tundish {
namespace {

constexpr char kMagic[] = "\x93NUMPY\x01";  // with its final zero: version 1.0
constexpr std::size_t kFixedBytes = sizeof(kMagic) + 2;
constexpr std::size_t kAlignment = 64;  // alignment of the data

// Resizes `out` to the head and `bytes` of data; returns where the data begin.
std::byte* begin_npy(std::vector<std::byte>& out, Size size, bool gray, std::size_t bytes) {
  std::string text =
      fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}{}), }}", size.height,
                  size.width, gray ? "" : ", 3");
  const std::size_t unpadded = kFixedBytes + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  const std::size_t head = kFixedBytes + text.size();
  out.resize(head + bytes);
  std::memcpy(out.data(), kMagic, sizeof(kMagic));
  store(out.data() + sizeof(kMagic), static_cast<std::uint16_t>(text.size()));
  std::memcpy(out.data() + kFixedBytes, text.data(), text.size());
  return out.data() + head;
}

}  // namespace

void encode_npy(std::vector<std::byte>& out, const RgbImage& pixels, bool gray) {
  const std::size_t bytes = pixels.rgb.size() / (gray ? 3 : 1);
  std::byte* const data = begin_npy(out, pixels.size, gray, bytes);
  if (!gray) {
    std::memcpy(data, pixels.rgb.data(), bytes);
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(pixels.rgb[3 * i]);
}

void encode_npy(std::vector<std::byte>& out, Size size, int channels, Bytes elements) {
  std::byte* const data = begin_npy(out, size, channels == 1, elements.size());
  std::copy(elements.begin(), elements.end(), data);
}

}  // namespace tundish
