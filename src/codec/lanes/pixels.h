// Sample processing, once per instruction set: coefficients to planes, planes to RGB. All versions
// produce the same bytes.
//
// Plain pointers and structs only. The sources are compiled for different instruction sets, and the
// linker could merge an inline library function compiled for one set into all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"
#include "codec/lanes/crop_plan.h"
#include "codec/lanes/geometry.h"
#include "codec/lanes/unit.h"

namespace tundish::lanes {

// The quantizers of a component, in the order required by the instruction set.
struct QuantizationOrder {
  alignas(64) std::int16_t value[64];
  alignas(64) std::int16_t low[32];  // for the 4 x 4 lowest frequencies
  bool wide;                         // true if any quantizer is above 255
};

// The wanted blocks of one component of a unit.
struct ComponentTask {
  const QuantizationOrder* quantization;
  int first;              // the component's first block in the unit
  int across, down;       // the component's blocks in the unit
  int x0, y0, x1, y1;     // range of wanted blocks; may be empty
  std::uint8_t* out;      // sample (0, 0) of block (x0, y0)
  std::ptrdiff_t stride;  // bytes between rows of samples
};

struct UnitTask {
  const UnitValues* unit;
  int components;
  ComponentTask component[kMaxComponents];
};

// A row of pixels. The pointers are for the first pixel; with horizontal upsampling, for the
// leftmost pixel of the first pixel's sample.
struct RowTask {
  std::uint8_t* rgb;              // writable for kRowSlack bytes after the row
  const std::uint8_t* plane[3];   // rows of the components; readable from 64 samples before the row
                                  // to kRowSlack after it
  const std::uint8_t* beside[3];  // chroma: the second row for vertical interpolation
  int width;                      // pixels
  int repeat;                     // Upsampling::repeat: pixels per sample
  bool lower;                     // true if the row is the lower one of its chroma samples
};

inline constexpr int kRowSlack = 256;

struct Pixels {
  void (*order_quantization)(QuantizationOrder* out, const std::uint16_t* natural);

  // Writes the samples of the wanted blocks; may overwrite the 8 bytes after them.
  void (*render_unit)(const UnitTask& task);

  // Write one row of RGB; gray_row() uses the first plane only.
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
