// The partition of an image: components into blocks of 8 x 8 samples, the image into units of 64 x
// 64 pixels (128 x 64 if chroma is quartered or absent) that are decoded independently.
#pragma once

#include <cstdint>

namespace tundish::lanes {

// Chroma subsampling. The numbers are stored in files and must never change.
enum class Sampling : std::uint8_t {
  gray = 0,
  full = 1,          // 4:4:4
  half_wide = 2,     // 4:2:2
  half_both = 3,     // 4:2:0
  half_high = 4,     // 4:4:0
  quarter_wide = 5,  // 4:1:1
};
inline constexpr int kSamplings = 6;

// Meaning of the three components. The numbers are stored in files.
enum class Color : std::uint8_t { ycc = 0, rgb = 1 };

inline constexpr int kMaxComponents = 3;
inline constexpr int kMaxBlocks = 192;  // per unit
inline constexpr int kBlock = 8;        // samples on a side

struct Component {
  int h, v;                // sampling factors across and down: 1, 2 or 4
  int width, height;       // samples
  int blocks_x, blocks_y;  // blocks with samples, without MCU padding
};

struct Geometry {
  int width = 0, height = 0;  // pixels
  Sampling sampling = Sampling::gray;
  int components = 0;
  int max_h = 1, max_v = 1;  // maxima over the components: an MCU is 8 max_h x 8 max_v pixels
  Component component[kMaxComponents] = {};
  int unit_width = 0, unit_height = 0;  // pixels
  int units_x = 0, units_y = 0;

  int units() const { return units_x * units_y; }
};

// width and height are 1 to 65,535.
Geometry make_geometry(int width, int height, Sampling sampling);

// The blocks of one component in one unit, as a rectangle of that component's blocks.
struct BlockRect {
  int x0, y0, x1, y1;
  int width() const { return x1 - x0; }
  int height() const { return y1 - y0; }
  int count() const { return width() * height(); }
};

// Never returns an empty rectangle: a unit with a pixel has a sample of every component.
BlockRect blocks_of(const Geometry& geometry, int unit_x, int unit_y, int component);

// Returns the position of block (x, y) of a rectangle in unit order: row by row, odd rows from
// right to left, so that consecutive blocks are neighbors in the image.
inline int place_of(const BlockRect& rect, int x, int y) {
  const int row = y - rect.y0;
  return row * rect.width() + (row % 2 == 0 ? x - rect.x0 : rect.x1 - 1 - x);
}

}  // namespace tundish::lanes
