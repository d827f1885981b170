// ImageEnhance.Sharpness: blends an image with its smoothed copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/image.h"
#include "base/machine/cpu.h"

namespace tundish {

// Reuses its buffers across images. Not thread-safe.
class Sharpness {
 public:
  // Sharpens interleaved RGB in place.
  void run(std::uint8_t* rgb, Size size, float factor, Cpu cpu);

 private:
  std::vector<std::uint8_t> above_, here_;  // unchanged copies of rows
  std::vector<std::uint16_t> sums_;         // sums of three rows
};

// Three rows of `bytes` bytes, their column sums, and the output for the middle row without its
// first and last pixel.
struct SharpnessRow {
  std::uint8_t* to;
  const std::uint8_t* above;
  const std::uint8_t* here;
  const std::uint8_t* below;
  std::uint16_t* sums;
  std::size_t bytes;
};

// Computes the sums for as many bytes as fill whole registers; returns their number.
std::size_t add_rows_avx2(const SharpnessRow& row);
std::size_t add_rows_avx512(const SharpnessRow& row);
// Sharpens from the fourth byte on, as many bytes as fill whole registers; returns their end.
std::size_t sharpen_row_avx2(const SharpnessRow& row, float factor);
std::size_t sharpen_row_avx512(const SharpnessRow& row, float factor);

}  // namespace tundish
