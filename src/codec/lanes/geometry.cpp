#include "codec/lanes/geometry.h"

#include <algorithm>
#include <cassert>

namespace tundish::lanes {
namespace {

int divide_up(int a, int b) { return (a + b - 1) / b; }

struct Factors {
  int h, v;        // luma's factors; chroma has 1, 1
  int unit_width;  // pixels
  int unit_height;
};

constexpr Factors kFactors[kSamplings] = {
    {1, 1, 128, 64},  // gray
    {1, 1, 64, 64},   // full
    {2, 1, 64, 64},   // half_wide
    {2, 2, 128, 64},  // half_both
    {1, 2, 64, 64},   // half_high
    {4, 1, 128, 64},  // quarter_wide
};

}  // namespace

Geometry make_geometry(int width, int height, Sampling sampling) {
  assert(width > 0 && height > 0 && static_cast<int>(sampling) < kSamplings);
  const Factors& factors = kFactors[static_cast<std::size_t>(sampling)];
  Geometry out;
  out.width = width;
  out.height = height;
  out.sampling = sampling;
  out.components = sampling == Sampling::gray ? 1 : 3;
  out.max_h = factors.h;
  out.max_v = factors.v;
  for (int c = 0; c < out.components; ++c) {
    Component& component = out.component[c];
    component.h = c == 0 ? factors.h : 1;
    component.v = c == 0 ? factors.v : 1;
    component.width = divide_up(width * component.h, factors.h);
    component.height = divide_up(height * component.v, factors.v);
    component.blocks_x = divide_up(component.width, kBlock);
    component.blocks_y = divide_up(component.height, kBlock);
  }
  out.unit_width = factors.unit_width;
  out.unit_height = factors.unit_height;
  out.units_x = divide_up(width, factors.unit_width);
  out.units_y = divide_up(height, factors.unit_height);
  return out;
}

BlockRect blocks_of(const Geometry& geometry, int unit_x, int unit_y, int component) {
  const Component& c = geometry.component[component];
  const int wide = geometry.unit_width * c.h / geometry.max_h / kBlock;
  const int high = geometry.unit_height * c.v / geometry.max_v / kBlock;
  const int x0 = unit_x * wide;
  const int y0 = unit_y * high;
  return {x0, y0, std::min(x0 + wide, c.blocks_x), std::min(y0 + high, c.blocks_y)};
}

}  // namespace tundish::lanes
