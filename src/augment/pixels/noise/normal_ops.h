// Random numbers that every pixel has: normal ones, as a function of a key and a place, by integers
// and a table, so that every machine gives the same. CPU and GPU share this.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

// 64 random bits of a pixel, 16 for each channel and 16 that are left: number `pixel` of a stream
// of base/random.h.
TUNDISH_HOST_DEVICE std::uint64_t pixel_bits(std::uint64_t key, std::uint64_t pixel) {
  std::uint64_t x = key + 0x9e3779b97f4a7c15u * (pixel + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The random bits of a channel of the pixel.
TUNDISH_HOST_DEVICE std::uint32_t channel_bits(std::uint64_t bits, int channel) {
  return static_cast<std::uint32_t>(bits >> (16 * channel)) & 0xffff;
}

// Entry i of the table is the number below which a normal one is with probability i / kNormalParts;
// there are kNormalParts + 1. Made when first asked for. Host only: a GPU gets a copy.
constexpr int kNormalParts = 8192;
const float* normal_table();

// 65,536 numbers, each as likely as the others: between two entries on a straight line.
TUNDISH_HOST_DEVICE float normal_number(const float* table, std::uint32_t channel_bits) {
  const float low = table[channel_bits >> 3];
  const float high = table[(channel_bits >> 3) + 1];
  const float part = static_cast<float>(static_cast<std::int32_t>(channel_bits & 7)) + 0.5f;
  return low + (high - low) * (part * 0.125f);
}

}  // namespace tundish
