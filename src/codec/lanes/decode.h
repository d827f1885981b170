// Decodes a lanes record to pixels or coefficients. Any bytes yield a result or a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/image.h"
#include "base/machine/cpu.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/crop_plan.h"
#include "codec/lanes/decode_unit.h"
#include "codec/lanes/geometry.h"
#include "codec/lanes/pixels.h"
#include "codec/lanes/record.h"
#include "codec/lanes/tables.h"
#include "codec/lanes/unit.h"

namespace tundish::lanes {

// Turns units into strips of RGB: the second half of decoding a record. Its memory only grows.
// Holds the samples of one row of units and a few more rows. Not thread-safe.
class Renderer {
 public:
  explicit Renderer(Cpu cpu = tundish::cpu()) : Renderer(pixels_of(cpu)) {}
  explicit Renderer(const Pixels& pixels) : pixels_(pixels) {}  // must outlive the renderer

  // Prepares for the window of a plan; `quantization` has one table per component. Copies
  // everything except the sink.
  void begin(const Geometry& geometry, Color color, const Quantization* quantization,
             const CropPlan& plan, StripSink& sink);

  // Accepts the units of the plan, row by row from left to right, each once. `values` must hold the
  // unit's blocks: start[b + 1] - start[b] values for the bits of mask[b], escapes in order. The
  // last unit of a row sends all strips that are then complete, with exactly the window's columns.
  // After the last unit of all, every row of the window has been sent.
  void push_unit(const UnitValues& values, int unit_x, int unit_y);

 private:
  struct Plane {
    std::uint8_t* samples = nullptr;  // row `top`, column 8 * blocks.x0 of the component
    std::ptrdiff_t stride = 0;
    int top = 0;        // first row kept
    int bottom = 0;     // one past the last decoded row
    int column = 0;     // column of the window's first pixel
    int row_shift = 0;  // log2 of pixel rows per sample row
    QuantizationOrder quantization = {};
    Buffer memory;
  };

  void end_row_of_units(int unit_y);
  void extend_edges(int component, int from, int to);
  int end_of_complete_rows() const;
  void send(int rows);
  void point_at_row(RowTask& task, int y) const;
  void keep_rows(int component);

  const Pixels& pixels_;
  Geometry geometry_;
  Color color_ = Color::ycc;
  Upsampling upsampling_ = Upsampling::none;
  bool smooth_wide_ = false, smooth_high_ = false;
  CropPlan plan_;
  StripSink* sink_ = nullptr;
  Plane plane_[kMaxComponents];
  int indent_ = 0;    // pixels before the window that share its first sample
  int next_row_ = 0;  // next image row to send
  std::ptrdiff_t rgb_stride_ = 0;
  Buffer rgb_;  // the rows of a strip
};

// Buffers that a thread reuses between records, so that decoding allocates nothing.
class Decoder {
 public:
  explicit Decoder(Cpu cpu = tundish::cpu());

  // Pushes the rows of `window` (inside the image) into the sink. On a fault, some rows may already
  // have been pushed.
  std::optional<Fault> decode(StripSink& sink, Bytes record, const Window& window,
                              const Tables& tables);

  // Decodes all coefficients, as in the JPEG; reuses the memory of `out`.
  std::optional<Fault> decode(Coefficients& out, Bytes record, const Tables& tables);

 private:
  struct Work {
    UnitValues values[2];
    UnitWork unit[2];
    alignas(64) std::byte last[2][0x10000 + kReadableBehind];  // units near the record's end
  };

  CodedUnit coded(int x, int y, int place);
  template <typename Use>
  std::optional<Fault> decode_units(const Tables& tables, int x0, int y0, int x1, int y1,
                                    const Use& use);

  DecodeUnits decode_units_;
  Cpu cpu_;
  Record record_;
  Renderer renderer_;
  std::unique_ptr<Work> work_;
};

}  // namespace tundish::lanes
