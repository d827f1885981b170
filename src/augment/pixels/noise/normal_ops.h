// Normal random numbers per pixel, as a function of a key and a place. Computed with integers and a
// table so that every machine computes the same numbers. Shared by CPU and GPU.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

// Returns 64 random bits of a pixel: 16 for each channel and 16 unused. The bits are number `pixel`
// of a stream of base/random.h.
TUNDISH_HOST_DEVICE std::uint64_t pixel_bits(std::uint64_t key, std::uint64_t pixel) {
  std::uint64_t x = key + 0x9e3779b97f4a7c15u * (pixel + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Returns the random bits of a channel of the pixel.
TUNDISH_HOST_DEVICE std::uint32_t channel_bits(std::uint64_t bits, int channel) {
  return static_cast<std::uint32_t>(bits >> (16 * channel)) & 0xffff;
}

// A table of kNormalParts + 1 quantiles: a normal number is below entry i with probability
// i / kNormalParts. Built on first use. Host only: a GPU gets a copy.
constexpr int kNormalParts = 8192;
const float* normal_table();

// Interpolates linearly between two entries; returns one of 65,536 equally likely numbers.
TUNDISH_HOST_DEVICE float normal_number(const float* table, std::uint32_t channel_bits) {
  const float low = table[channel_bits >> 3];
  const float high = table[(channel_bits >> 3) + 1];
  const float part = static_cast<float>(static_cast<std::int32_t>(channel_bits & 7)) + 0.5f;
  return low + (high - low) * (part * 0.125f);
}

}  // namespace tundish
