#include "augment/pixels/alpha/premultiply.h"

#include <array>
#include <cstddef>

#include "augment/pixels/alpha/premultiply_ops.h"

namespace tundish {
namespace {

// (level * factor) >> 24, capped at 255, equals 255 * level / alpha for every level, as
// premultiply_test.cpp checks. A factor of 2^24 leaves the level unchanged.
constexpr std::array<std::uint32_t, 256> make_factors() {
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t alpha = 1; alpha < 255; ++alpha) {
    out[alpha] = static_cast<std::uint32_t>((std::uint64_t{255} << 24) / alpha + 1);
  }
  out[0] = out[255] = 1u << 24;
  return out;
}
constexpr std::array<std::uint32_t, 256> kFactor = make_factors();

}  // namespace

void multiply_by_alpha(std::span<std::uint8_t> rgb, std::span<const std::uint8_t> alpha) {
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = multiplied(rgb[i], alpha[i]);
}

void divide_by_alpha(std::span<std::uint8_t> rgb, std::span<const std::uint8_t> alpha) {
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    const std::uint64_t level = (std::uint64_t{rgb[i]} * kFactor[alpha[i]]) >> 24;
    rgb[i] = static_cast<std::uint8_t>(level < 255 ? level : 255);
  }
}

}  // namespace tundish
