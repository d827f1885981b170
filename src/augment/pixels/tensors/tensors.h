// Operations of PixelKind::tensors, and PixelOp::elastic, on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

// Keeps its buffers from image to image. One thread.
class Tensors {
 public:
  explicit Tensors(Cpu cpu) : cpu_(cpu) {}

  // The image may change its memory.
  void run(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

  // Memory for one step beside the image and its result, at most.
  static std::uint64_t bytes(const PixelStep& step, Size size);

 private:
  void affine(const PixelStep& step, const std::uint8_t* rgb, Size size);
  void elastic(const PixelStep& step, const std::uint8_t* rgb, Size size);
  void make_field(std::vector<float>& field, const PixelStep& step, Size size, int axis);
  void sharpen(const PixelStep& step, const std::uint8_t* rgb, Size size);

  const Cpu cpu_;
  std::vector<std::uint8_t> result_;
  std::vector<float> x_, y_;          // places: of a row, or of the whole image's pixels
  std::vector<float> line_, rows_;    // of a field's blur: a padded line, lines that are done
  std::vector<const float*> around_;  // the lines above and below one
};

// The obviously right twin.
void tensors_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

}  // namespace tundish
