// ImageEnhance.Sharpness: an image and the same, smoothed, blended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/image.h"
#include "base/machine/cpu.h"

namespace tundish {

// Keeps its buffers from image to image. One thread.
class Sharpness {
 public:
  // Interleaved RGB, in place.
  void run(std::uint8_t* rgb, Size size, float factor, Cpu cpu);

 private:
  std::vector<std::uint8_t> above_, here_;  // rows as they were
  std::vector<std::uint16_t> sums_;         // of three rows
};

// Three rows of `bytes`, sums of them in a column, and where the result of the row in the middle
// goes: all but the first and the last pixel.
struct SharpnessRow {
  std::uint8_t* to;
  const std::uint8_t* above;
  const std::uint8_t* here;
  const std::uint8_t* below;
  std::uint16_t* sums;
  std::size_t bytes;
};

// The sums, of as many bytes as fill whole registers: returns their number.
std::size_t add_rows_avx2(const SharpnessRow& row);
std::size_t add_rows_avx512(const SharpnessRow& row);
// As many bytes from the fourth on as fill whole registers: returns where they end.
std::size_t sharpen_row_avx2(const SharpnessRow& row, float factor);
std::size_t sharpen_row_avx512(const SharpnessRow& row, float factor);

}  // namespace tundish
