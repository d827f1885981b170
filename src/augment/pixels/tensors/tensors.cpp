#include "augment/pixels/tensors/tensors.h"

#include <algorithm>

#include "augment/filter.h"
#include "augment/pixels/blur/blur_rows.h"
#include "augment/pixels/blur/gaussian_taps.h"
#include "augment/pixels/levels/level_range.h"
#include "augment/pixels/levels/level_table.h"
#include "augment/pixels/tensors/tensor_rows.h"

namespace tundish {
namespace {

std::size_t size_of(int i) { return static_cast<std::size_t>(i); }

template <class T>
void grow(std::vector<T>& memory, std::size_t elements) {
  if (memory.size() < elements) memory.resize(elements);
}

const TensorRows& tensor_rows(Cpu cpu) {
  return cpu >= Cpu::avx2 ? kTensorRowsAvx2 : kTensorRowsBaseline;
}

void change_contrast(const PixelStep& step, std::vector<std::uint8_t>& rgb, Cpu cpu) {
  const std::size_t pixels = rgb.size() / 3;
  const float mean = tensor_mean(tensor_rows(cpu).sum_of_grays(rgb.data(), pixels), pixels);
  const TensorBlend blend = tensor_blend(step.value[0]);
  LevelTable table = unchanged_levels();
  for (auto& levels : table) {
    for (std::uint8_t& level : levels) level = blended(blend, level, mean);
  }
  apply_levels(rgb.data(), rgb.size(), table, cpu);
}

void stretch_levels(std::vector<std::uint8_t>& rgb, Cpu cpu) {
  const LevelRange range = level_range(rgb.data(), rgb.size() / 3, cpu);
  LevelTable table = unchanged_levels();
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::uint8_t& level : table[c]) {
      level = tensor_autocontrast_level(level, range.low[c], range.high[c]);
    }
  }
  apply_levels(rgb.data(), rgb.size(), table, cpu);
}

}  // namespace

void Tensors::run(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  switch (step.op) {
    case PixelOp::tensor_saturation:
      return tensor_rows(cpu_).saturate(rgb.data(), rgb.size() / 3, tensor_blend(step.value[0]));
    case PixelOp::tensor_contrast:
      return change_contrast(step, rgb, cpu_);
    case PixelOp::tensor_autocontrast:
      return stretch_levels(rgb, cpu_);
    default:
      break;
  }
  result_.resize(rgb.size());
  if (step.op == PixelOp::tensor_sharpness) sharpen(step, rgb.data(), size);
  if (step.op == PixelOp::tensor_affine) affine(step, rgb.data(), size);
  if (step.op == PixelOp::elastic) elastic(step, rgb.data(), size);
  rgb.swap(result_);
}

void Tensors::sharpen(const PixelStep& step, const std::uint8_t* rgb, Size size) {
  std::copy_n(rgb, result_.size(), result_.data());
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * size.width;
  for (std::ptrdiff_t y = 1; y + 1 < size.height; ++y) {
    tensor_rows(cpu_).sharpen(result_.data() + y * stride, rgb + y * stride, stride,
                              tensor_blend(step.value[0]));
  }
}

void Tensors::affine(const PixelStep& step, const std::uint8_t* rgb, Size size) {
  const TensorRows& rows = tensor_rows(cpu_);
  const TensorLine across = tensor_line(step, 0, size.width);
  const TensorLine down = tensor_line(step, 1, size.height);
  grow(x_, size_of(size.width));
  grow(y_, size_of(size.width));
  for (int y = 0; y < size.height; ++y) {
    rows.affine_places(x_.data(), across, y, size);
    rows.affine_places(y_.data(), down, y, size);
    rows.sample({result_.data() + std::ptrdiff_t{3} * size.width * y,
                 &step,
                 {rgb, size.width, size.height},
                 x_.data(),
                 y_.data(),
                 size.width});
  }
}

void Tensors::elastic(const PixelStep& step, const std::uint8_t* rgb, Size size) {
  const TensorRows& rows = tensor_rows(cpu_);
  const std::size_t stride = blur_stride(size_of(size.width));
  make_field(x_, step, size, 0);
  make_field(y_, step, size, 1);
  const ElasticLine across = elastic_line(step, 0, size.width);
  const ElasticLine down = elastic_line(step, 1, size.height);
  for (int y = 0; y < size.height; ++y) {
    float* x_row = x_.data() + size_of(y) * stride;
    float* y_row = y_.data() + size_of(y) * stride;
    rows.elastic_places(x_row, across, 0, 1, size.width);
    rows.elastic_places(y_row, down, y, 0, size.width);
    rows.sample({result_.data() + std::ptrdiff_t{3} * size.width * y,
                 &step,
                 {rgb, size.width, size.height},
                 x_row,
                 y_row,
                 size.width});
  }
}

// Computes the blurred numbers of an axis; a row has blur_stride() numbers.
void Tensors::make_field(std::vector<float>& field, const PixelStep& step, Size size, int axis) {
  const int kernel = elastic_kernel(step.value[size_of(2 + axis)]);
  const auto across = gaussian_taps(kernel, step.value[4]);
  const auto down = gaussian_taps(kernel, step.value[5]);
  const int reach_x = static_cast<int>(across.size()) - 1;
  const int reach_y = static_cast<int>(down.size()) - 1;
  const GaussianRows& rows = gaussian_rows(cpu_);
  const std::size_t stride = blur_stride(size_of(size.width));
  const int count = static_cast<int>(stride);
  const int kept = std::min(2 * reach_y + 1, size.height);
  grow(line_, stride + 2 * size_of(reach_x));
  grow(rows_, stride * size_of(kept));
  grow(around_, size_of(2 * reach_y + 1));
  grow(field, stride * size_of(size.height));
  float* line = line_.data() + reach_x;
  std::uint64_t number = 0;  // pixel index
  int done = 0;
  for (int y = 0; y < size.height; ++y) {
    for (; done <= std::min(y + reach_y, size.height - 1); ++done) {
      for (int x = 0; x < size.width; ++x) {
        line[x] = elastic_number(pixel_bits(step.key, number++), axis);
      }
      for (int i = 1; i <= reach_x; ++i) {
        line[-i] = line[padded_index(-i, size.width, PadMode::reflect)];
        const int right = size.width - 1 + i;
        line[right] = line[padded_index(right, size.width, PadMode::reflect)];
      }
      rows.across(rows_.data() + size_of(done % kept) * stride, line, count, across.data(), reach_x,
                  1);
    }
    const float** middle = around_.data() + reach_y;
    for (int d = -reach_y; d <= reach_y; ++d) {
      const int row = padded_index(y + d, size.height, PadMode::reflect);
      middle[d] = rows_.data() + size_of(row % kept) * stride;
    }
    rows.down_sums(field.data() + size_of(y) * stride, middle, count, down.data(), reach_y);
  }
}

std::uint64_t Tensors::bytes(const PixelStep& step, Size size) {
  const std::uint64_t stride = blur_stride(size_of(size.width));
  if (step.op == PixelOp::tensor_affine) return 2 * sizeof(float) * stride;
  if (step.op != PixelOp::elastic) return 0;
  const int kernel = std::max(elastic_kernel(step.value[2]), elastic_kernel(step.value[3]));
  const std::uint64_t kept = size_of(std::min(kernel, size.height));
  return sizeof(float) * (stride * (2 * size_of(size.height) + kept + 1) + size_of(kernel)) +
         sizeof(float*) * size_of(kernel);
}

}  // namespace tundish
