#include "codec/lanes/decode_reference.h"

#include <algorithm>

#include "codec/lanes/crop_plan.h"
#include "codec/lanes/idct.h"
#include "codec/lanes/sample_arithmetic.h"

namespace tundish::lanes {
namespace {

struct Plane {
  int width, height;  // samples of the image, without block padding
  std::ptrdiff_t stride;
  std::vector<std::uint8_t> samples;

  // Repeats the outermost samples beyond the edges.
  int at(int x, int y) const {
    return samples[static_cast<std::size_t>(std::clamp(y, 0, height - 1) * stride +
                                            std::clamp(x, 0, width - 1))];
  }
};

Plane make_plane(const Coefficients& image, int c) {
  const Component& component = image.geometry.component[c];
  Plane plane = {component.width, component.height, std::ptrdiff_t{8} * component.blocks_x, {}};
  plane.samples.resize(static_cast<std::size_t>(plane.stride * 8 * component.blocks_y));
  for (int y = 0; y < component.blocks_y; ++y) {
    for (int x = 0; x < component.blocks_x; ++x) {
      const Block& block = image.blocks[c][static_cast<std::size_t>(y * component.blocks_x + x)];
      std::int16_t coefficients[64];
      for (std::size_t i = 0; i < 64; ++i) {
        coefficients[i] = static_cast<std::int16_t>(block[i] * image.quantization[c][i]);
      }
      idct(plane.samples.data() + 8 * y * plane.stride + 8 * x, plane.stride, coefficients);
    }
  }
  return plane;
}

// Chroma at a pixel, as in jdsample.c.
int chroma_at(const Plane& plane, const Geometry& geometry, Upsampling how, int x, int y) {
  const int side_x = x % 2 == 0 ? -1 : 1;
  const int side_y = y % 2 == 0 ? -1 : 1;
  switch (how) {
    case Upsampling::smooth_wide:
      return smooth(plane.at(x / 2, y), plane.at(x / 2 + side_x, y), x % 2 == 1);
    case Upsampling::smooth_high:
      return smooth(plane.at(x, y / 2), plane.at(x, y / 2 + side_y), y % 2 == 1);
    case Upsampling::smooth_both: {
      const auto column = [&](int at) {
        return 3 * plane.at(at, y / 2) + plane.at(at, y / 2 + side_y);
      };
      return smooth_sums(column(x / 2), column(x / 2 + side_x), x % 2 == 1);
    }
    case Upsampling::none:
    case Upsampling::repeat:
      break;
  }
  return plane.at(x / geometry.max_h, y / geometry.max_v);
}

std::uint8_t clip(int level) { return static_cast<std::uint8_t>(std::clamp(level, 0, 255)); }

}  // namespace

std::vector<std::uint8_t> decode_reference(const Coefficients& image) {
  const Geometry& geometry = image.geometry;
  const Upsampling how = upsampling_of(geometry);
  std::vector<Plane> planes;
  for (int c = 0; c < geometry.components; ++c) planes.push_back(make_plane(image, c));

  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < geometry.height; ++y) {
    for (int x = 0; x < geometry.width; ++x) {
      const int first = planes[0].at(x, y);
      if (geometry.components == 1) {
        rgb.insert(rgb.end(), 3, clip(first));
        continue;
      }
      const int second = chroma_at(planes[1], geometry, how, x, y);
      const int third = chroma_at(planes[2], geometry, how, x, y);
      if (image.color == Color::rgb) {
        rgb.insert(rgb.end(), {clip(first), clip(second), clip(third)});
        continue;
      }
      const int luma = scaled_luma(first), blue = second - 128, red = third - 128;
      rgb.push_back(clip(red_of(luma, red)));
      rgb.push_back(clip(green_of(luma, blue, red)));
      rgb.push_back(clip(blue_of(luma, blue)));
    }
  }
  return rgb;
}

}  // namespace tundish::lanes
