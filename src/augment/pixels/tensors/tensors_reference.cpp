#include <algorithm>

#include "augment/filter.h"
#include "augment/pixels/blur/blur_ops.h"
#include "augment/pixels/blur/gaussian_taps.h"
#include "augment/pixels/tensors/elastic_ops.h"
#include "augment/pixels/tensors/tensors.h"

namespace tundish {
namespace {

std::size_t number_of(Size size, int x, int y) {
  return static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
         static_cast<std::size_t>(x);
}

// Calls make(x, y) for every pixel, in order.
template <class Make>
std::vector<float> plane(Size size, const Make& make) {
  std::vector<float> out;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) out.push_back(make(x, y));
  }
  return out;
}

std::vector<float> places_reference(const PixelStep& step, Size size, int axis) {
  const int side = axis == 0 ? size.width : size.height;
  if (step.op == PixelOp::tensor_affine) {
    const TensorLine line = tensor_line(step, axis, side);
    return plane(size, [&](int x, int y) {
      return tensor_place(line, from_middle(x, size.width), from_middle(y, size.height));
    });
  }
  const int kernel = elastic_kernel(step.value[static_cast<std::size_t>(2 + axis)]);
  const auto across = gaussian_taps(kernel, step.value[4]);
  const auto down = gaussian_taps(kernel, step.value[5]);
  const auto numbers = plane(size, [&](int x, int y) {
    return elastic_number(pixel_bits(step.key, number_of(size, x, y)), axis);
  });
  const auto rows = plane(size, [&](int x, int y) {
    return gaussian_sum(across.data(), static_cast<int>(across.size()) - 1, [&](int d) {
      return numbers[number_of(size, padded_index(x + d, size.width, PadMode::reflect), y)];
    });
  });
  const ElasticLine line = elastic_line(step, axis, side);
  return plane(size, [&](int x, int y) {
    const float sum = gaussian_sum(down.data(), static_cast<int>(down.size()) - 1, [&](int d) {
      return rows[number_of(size, x, padded_index(y + d, size.height, PadMode::reflect))];
    });
    return elastic_place(line, axis == 0 ? x : y, sum);
  });
}

void move_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  const std::vector<std::uint8_t> before = rgb;
  const auto x = places_reference(step, size, 0), y = places_reference(step, size, 1);
  const Pixels image{before.data(), size.width, size.height};
  for (std::size_t i = 0; i < x.size(); ++i) {
    tensor_pixel(rgb.data() + 3 * i, step, image, {x[i], y[i]});
  }
}

void sharpen_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  const std::vector<std::uint8_t> before = rgb;
  for (int y = 1; y + 1 < size.height; ++y) {
    for (int x = 1; x + 1 < size.width; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t here = 3 * number_of(size, x, y) + c;
        int sum = 4 * before[here];
        for (int i = 0; i < 9; ++i) {
          sum += before[3 * number_of(size, x + i % 3 - 1, y + i / 3 - 1) + c];
        }
        rgb[here] = tensor_sharpened(tensor_blend(step.value[0]), before[here], sum);
      }
    }
  }
}

void autocontrast_reference(std::vector<std::uint8_t>& rgb) {
  for (std::size_t c = 0; c < 3; ++c) {
    int low = 255, high = 0;
    for (std::size_t i = c; i < rgb.size(); i += 3) {
      low = std::min<int>(low, rgb[i]);
      high = std::max<int>(high, rgb[i]);
    }
    for (std::size_t i = c; i < rgb.size(); i += 3) {
      rgb[i] = tensor_autocontrast_level(rgb[i], low, high);
    }
  }
}

}  // namespace

void tensors_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  if (step.op == PixelOp::tensor_autocontrast) return autocontrast_reference(rgb);
  if (step.op == PixelOp::tensor_sharpness) return sharpen_reference(step, rgb, size);
  const bool saturates = step.op == PixelOp::tensor_saturation;
  if (!saturates && step.op != PixelOp::tensor_contrast) return move_reference(step, rgb, size);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    sum += static_cast<std::uint64_t>(tensor_gray(rgb[i], rgb[i + 1], rgb[i + 2]));
  }
  const float mean = tensor_mean(sum, rgb.size() / 3);
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    const float other = saturates ? tensor_gray(rgb[i], rgb[i + 1], rgb[i + 2]) : mean;
    for (std::size_t c = 0; c < 3; ++c) {
      rgb[i + c] = blended(tensor_blend(step.value[0]), rgb[i + c], other);
    }
  }
}

}  // namespace tundish
