// Operations of PixelKind::tensors, and PixelOp::elastic, on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

// Reuses its buffers across images. Not thread-safe.
class Tensors {
 public:
  explicit Tensors(Cpu cpu) : cpu_(cpu) {}

  // May reallocate `rgb`.
  void run(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

  // Upper bound of the memory of one step, excluding the image and its result.
  static std::uint64_t bytes(const PixelStep& step, Size size);

 private:
  void affine(const PixelStep& step, const std::uint8_t* rgb, Size size);
  void elastic(const PixelStep& step, const std::uint8_t* rgb, Size size);
  void make_field(std::vector<float>& field, const PixelStep& step, Size size, int axis);
  void sharpen(const PixelStep& step, const std::uint8_t* rgb, Size size);

  const Cpu cpu_;
  std::vector<std::uint8_t> result_;
  std::vector<float> x_, y_;          // source places of a row, or of the whole image
  std::vector<float> line_, rows_;    // blur of a field: a padded line, and finished lines
  std::vector<const float*> around_;  // the lines above and below a line
};

// Reference implementation.
void tensors_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

}  // namespace tundish
