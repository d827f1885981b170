#include "augment/pixels/tensors/tensor_rows_simd.h"

namespace tundish {
namespace {

void sample(const TensorRow& row) {
  for (int i = 0; i < row.count; ++i) {
    tensor_pixel(row.to + 3 * i, *row.step, row.image, {row.x[i], row.y[i]});
  }
}

}  // namespace

const TensorRows kTensorRowsBaseline = {affine_places, elastic_places,      sample,
                                        saturate,      sum_of_tensor_grays, sharpen};

}  // namespace tundish
