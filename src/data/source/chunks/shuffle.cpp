#include "data/source/chunks/shuffle.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tundish {
namespace {

// The constant element size lets the compiler unroll and vectorize the inner
// loop.
template <std::size_t kElement>
void unshuffle_fixed(std::byte* out, const std::byte* in, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < kElement; ++b) out[i * kElement + b] = in[b * count + i];
  }
}

void copy_rest(ByteSpan out, Bytes in, std::size_t from) {
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(from), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(from));
}

// Bit c of byte r becomes bit r of byte c.
std::uint64_t transpose_8x8(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaull;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccull;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ull;
  return x ^ t ^ (t << 28);
}

template <std::integral T>
void swap_fixed(ByteSpan bytes) {
  for (std::size_t at = 0; bytes.size() - at >= sizeof(T); at += sizeof(T)) {
    std::byte* element = bytes.data() + at;
    std::reverse(element, element + sizeof(T));
  }
}

}  // namespace

void unshuffle_bytes_reference(ByteSpan out, Bytes in, std::size_t element) {
  const std::size_t count = in.size() / element;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < element; ++b) out[i * element + b] = in[b * count + i];
  }
  copy_rest(out, in, count * element);
}

void unshuffle_bytes(ByteSpan out, Bytes in, std::size_t element) {
  const std::size_t count = in.size() / element;
  switch (element) {
    case 2:
      unshuffle_fixed<2>(out.data(), in.data(), count);
      break;
    case 4:
      unshuffle_fixed<4>(out.data(), in.data(), count);
      break;
    case 8:
      unshuffle_fixed<8>(out.data(), in.data(), count);
      break;
    default:
      return unshuffle_bytes_reference(out, in, element);
  }
  copy_rest(out, in, count * element);
}

void unshuffle_bits_reference(ByteSpan out, Bytes in, std::size_t element) {
  const std::size_t count = in.size() / element;
  if (count % 8 != 0) return copy_rest(out, in, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < element; ++b) {
      unsigned byte = 0;
      for (std::size_t bit = 0; bit < 8; ++bit) {
        const auto row = std::to_integer<unsigned>(in[(b * 8 + bit) * (count / 8) + i / 8]);
        byte |= (row >> (i % 8) & 1u) << bit;
      }
      out[i * element + b] = static_cast<std::byte>(byte);
    }
  }
  copy_rest(out, in, count * element);
}

void unshuffle_bits(ByteSpan out, Bytes in, std::size_t element) {
  const std::size_t count = in.size() / element;
  if (count % 8 != 0) return copy_rest(out, in, 0);
  const std::size_t row = count / 8;
  for (std::size_t b = 0; b < element; ++b) {
    for (std::size_t eight = 0; eight < row; ++eight) {
      std::uint64_t bits = 0;
      for (std::size_t bit = 0; bit < 8; ++bit) {
        bits |= std::to_integer<std::uint64_t>(in[(b * 8 + bit) * row + eight]) << (8 * bit);
      }
      bits = transpose_8x8(bits);
      for (std::size_t i = 0; i < 8; ++i) {
        out[(eight * 8 + i) * element + b] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
      }
    }
  }
  copy_rest(out, in, count * element);
}

void swap_elements(ByteSpan bytes, std::size_t element) {
  if (element == 2) return swap_fixed<std::uint16_t>(bytes);
  if (element == 4) return swap_fixed<std::uint32_t>(bytes);
  if (element == 8) return swap_fixed<std::uint64_t>(bytes);
}

}  // namespace tundish
