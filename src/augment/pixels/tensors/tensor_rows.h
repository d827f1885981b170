// The inner loops of Tensors: one version for every machine, and one for machines with fused
// multiply-add.
#pragma once

#include "augment/pixels/tensors/elastic_ops.h"

namespace tundish {

// A row of the result of tensor_affine or elastic.
struct TensorRow {
  std::uint8_t* to;
  const PixelStep* step;
  Pixels image;
  const float *x, *y;  // the place that each pixel shows
  int count;
};

struct TensorRows {
  void (*affine_places)(float* to, const TensorLine& line, int y, Size size);
  // Works in place: `to` holds the blurred numbers. Handles pixels first, first + step and so on.
  void (*elastic_places)(float* to, const ElasticLine& line, int first, int step, int count);
  void (*sample)(const TensorRow& row);
  void (*saturate)(std::uint8_t* rgb, std::size_t pixels, TensorBlend blend);
  std::uint64_t (*sum_of_grays)(const std::uint8_t* rgb, std::size_t pixels);
  // Sharpens bytes 3 to bytes - 4 of a row; rows are `stride` bytes apart.
  void (*sharpen)(std::uint8_t* to, const std::uint8_t* from, std::ptrdiff_t stride,
                  TensorBlend blend);
};
extern const TensorRows kTensorRowsBaseline, kTensorRowsAvx2;

}  // namespace tundish
