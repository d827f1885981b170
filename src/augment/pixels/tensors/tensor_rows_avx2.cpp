#include <immintrin.h>

#include "augment/pixels/tensors/tensor_rows_simd.h"

namespace tundish {
namespace {

// Loads four bytes as floats: a pixel, and one byte of the next pixel.
inline __attribute__((always_inline)) __m128 levels_at(const std::uint8_t* pixel) {
  int bytes;
  __builtin_memcpy(&bytes, pixel, sizeof bytes);
  return _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes)));
}

// tensor_bilinear() of a pixel whose four neighbors are in the image, in three lanes.
inline __attribute__((always_inline)) __m128i bilinear(const TensorRow& row, const TensorWeights& w,
                                                       __m128 fill) {
  const std::uint8_t* above = row.image.at(w.left, w.top);
  const std::uint8_t* below = above + 3 * static_cast<std::ptrdiff_t>(row.image.width);
  const float* weight = w.weight;
  __m128 sum = _mm_mul_ps(levels_at(above), _mm_set1_ps(weight[0]));
  sum = _mm_fmadd_ps(levels_at(above + 3), _mm_set1_ps(weight[1]), sum);
  sum = _mm_fmadd_ps(levels_at(below), _mm_set1_ps(weight[2]), sum);
  sum = _mm_fmadd_ps(levels_at(below + 3), _mm_set1_ps(weight[3]), sum);
  if (row.step->value[6] != 0.0) {
    const float share = weight[0] + weight[1] + weight[2] + weight[3];
    sum = _mm_add_ps(_mm_mul_ps(_mm_sub_ps(sum, fill), _mm_set1_ps(share)), fill);
  }
  return _mm_cvtps_epi32(sum);
}

void sample(const TensorRow& row) {
  const PixelStep& step = *row.step;
  const __m128 fill = _mm_setr_ps(step.fill[0], step.fill[1], step.fill[2], 0.0f);
  // The last pixel of an image has no fourth byte, so the pixel to its left is the last one loaded.
  const float right = static_cast<float>(row.image.width - 1);
  const float bottom = static_cast<float>(row.image.height - 1);
  for (int i = 0; i < row.count; ++i) {
    const TensorSpot place{row.x[i], row.y[i]};
    std::uint8_t* to = row.to + 3 * i;
    const bool inside = place.x >= 0.0f && place.x < right && place.y >= 0.0f && place.y < bottom;
    TensorWeights w{};
    if (inside && step.filter != Filter::nearest) w = tensor_weights(place);
    const bool last = w.left + 2 >= row.image.width && w.top + 2 >= row.image.height;
    if (!inside || step.filter == Filter::nearest || last) {
      tensor_pixel(to, step, row.image, place);
      continue;
    }
    const __m128i levels = bilinear(row, w, fill);
    const int packed = _mm_cvtsi128_si32(_mm_shuffle_epi8(levels, _mm_set1_epi32(0x0c080400)));
    __builtin_memcpy(to, &packed, 3);
  }
}

}  // namespace

const TensorRows kTensorRowsAvx2 = {affine_places, elastic_places,      sample,
                                    saturate,      sum_of_tensor_grays, sharpen};

}  // namespace tundish
