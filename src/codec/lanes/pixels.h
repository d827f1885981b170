// The work on samples, once per instruction set: coefficients to planes, planes to RGB. All give
// the same bytes.
//
// Plain pointers and structs only: the sources are compiled with different instruction sets, and
// an inline function of a library, compiled in one of them, could end up in all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"
#include "codec/lanes/crop_plan.h"
#include "codec/lanes/geometry.h"
#include "codec/lanes/unit.h"

namespace tundish::lanes {

// The quantizers of a component, in the order that suits the instruction set.
struct QuantizationOrder {
  alignas(64) std::int16_t value[64];
  alignas(64) std::int16_t low[32];  // of the 4 x 4 lowest frequencies
  bool wide;                         // one is above 255
};

// The wanted blocks of one component of a unit.
struct ComponentTask {
  const QuantizationOrder* quantization;
  int first;              // the component's first block in the unit
  int across, down;       // the component's blocks in the unit
  int x0, y0, x1, y1;     // the wanted ones of them; may be none
  std::uint8_t* out;      // sample (0, 0) of block (x0, y0)
  std::ptrdiff_t stride;  // of the samples
};

struct UnitTask {
  const UnitValues* unit;
  int components;
  ComponentTask component[kMaxComponents];
};

// A row of pixels. The pointers are for the first pixel, or with upsampling across for the pixel
// of its sample that is most to the left.
struct RowTask {
  std::uint8_t* rgb;              // kRowSlack bytes after the row may be written
  const std::uint8_t* plane[3];   // rows of the components; 64 samples in front and kRowSlack
                                  // after may be read
  const std::uint8_t* beside[3];  // chroma: the row that the pixels look at besides
  int width;                      // pixels
  int repeat;                     // Upsampling::repeat: pixels of a sample
  bool lower;                     // the row is the lower one of its samples' pixels
};

inline constexpr int kRowSlack = 256;

struct Pixels {
  void (*order_quantization)(QuantizationOrder* out, const std::uint16_t* natural);

  // Writes the samples of the wanted blocks; what was in the 8 bytes after them may be lost.
  void (*render_unit)(const UnitTask& task);

  // One row of RGB, for gray by the first plane alone.
  void (*gray_row)(const RowTask& task);
  void (*color_row)(const RowTask& task, Upsampling upsampling, Color color);
};

const Pixels& pixels_of(Cpu cpu);

namespace scalar {
void order_quantization(QuantizationOrder* out, const std::uint16_t* natural);
void render_unit(const UnitTask& task);
void gray_row(const RowTask& task);
void color_row(const RowTask& task, Upsampling upsampling, Color color);
}  // namespace scalar

namespace sse {
void order_quantization(QuantizationOrder* out, const std::uint16_t* natural);
void render_unit(const UnitTask& task);
void gray_row(const RowTask& task);
void color_row(const RowTask& task, Upsampling upsampling, Color color);
}  // namespace sse

namespace avx2 {
void order_quantization(QuantizationOrder* out, const std::uint16_t* natural);
void render_unit(const UnitTask& task);
void gray_row(const RowTask& task);
void color_row(const RowTask& task, Upsampling upsampling, Color color);
}  // namespace avx2

namespace avx512 {
void order_quantization(QuantizationOrder* out, const std::uint16_t* natural);
void render_unit(const UnitTask& task);
void gray_row(const RowTask& task);
void color_row(const RowTask& task, Upsampling upsampling, Color color);
}  // namespace avx512

}  // namespace tundish::lanes
