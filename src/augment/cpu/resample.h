// Pillow 12's resize for 8-bit RGB, bit for bit, as a stream: rows in, rows out.
// Horizontal pass first, each pass rounded to 8 bits, 22-bit integer weights (augment/cpu/taps.h).
//
// Every instruction set gives the same bytes, and resample_reference() is the twin that tests
// compare them with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augment/cpu/passes.h"
#include "augment/cpu/taps.h"
#include "augment/plan.h"
#include "base/buffer.h"
#include "base/image.h"
#include "base/machine/cpu.h"

namespace tundish {

// Receives finished rows of a step, top to bottom before mirroring. `y` already is the row's
// place after mirror_y; `mirror_x` is for the receiver to carry out. Interleaved RGB.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void row(int y, const std::uint8_t* rgb, int width, bool mirror_x) = 0;

  // The memory of row y when rows are kept as they are, each directly after the one above: the row
  // may be written to it instead of being passed to row(). nullptr otherwise.
  virtual std::uint8_t* place_of(int /*y*/, int /*width*/) { return nullptr; }
};

// Carries out one step. Reused from sample to sample: its buffers only grow. One thread.
class Resample : public StripSink {
 public:
  explicit Resample(Cpu cpu = tundish::cpu()) : cpu_(cpu), passes_(passes_of(cpu)) {}

  // Prepares for a step over an input of `image` pixels; rows go to `out`.
  void begin(const ResizeStep& step, Size image, RowSink& out);

  // The part of the input that the step reads; width or height 0 when it is all padding.
  Window needed() const { return needed_; }

  // Strips must cover needed(), top to bottom; what is outside it is ignored.
  void push(const Strip& strip) override;

  // Emits what is left (rows of padding at the bottom). Call once after the last push.
  void finish();

  // Memory that a step takes, at most. Of the step and the input's size alone.
  static std::uint64_t bytes(const ResizeStep& step, Size image);
  std::uint64_t held() const;  // what the buffers have taken so far

 private:
  void find_needed();
  void make_tables();
  void input_row(const std::uint8_t* row, const std::uint8_t* end);
  void padded_row(const std::uint8_t* row, const std::uint8_t* end);
  void cropped_row(const std::uint8_t* row, const std::uint8_t* end);
  std::uint8_t* staged(int i);
  void pass_rows();
  std::uint8_t* place_of_next();
  void emit(const std::uint8_t* rgb);

  const Cpu cpu_;
  const Passes& passes_;
  ResizeStep step_;
  Size image_;
  RowSink* out_ = nullptr;
  Window needed_;
  bool padded_x_ = false;
  bool padded_y_ = false;

  Taps taps_x_, taps_y_;
  int x_from_ = 0, x_to_ = 0;  // columns of the crop that are read
  int y_from_ = 0, y_to_ = 0;  // rows of the crop that are read

  int next_input_ = 0;   // row of the image that push() waits for
  int next_row_ = 0;     // row of the crop that the horizontal pass takes next
  int next_output_ = 0;  // kept row that comes next

  const std::uint8_t* row_[kMaxRows] = {};  // waiting for the horizontal pass
  int rows_ = 0;
  std::size_t row_bytes_ = 0;  // of a cropped row
  std::size_t row_reach_ = 0;  // and what the horizontal pass may read after it
  std::uint8_t* ring_ = nullptr;
  std::size_t slot_bytes_ = 0;
  int slots_ = 0;

  Buffer held_;    // all needed rows, when there is padding above or below
  Buffer fill_;    // a row of padding
  Buffer staged_;  // rows that cannot be read where they are
  Buffer slot_memory_;
  Buffer table_x_, table_y_;
  Buffer result_;  // a row after the vertical pass
};

// The obviously right twin: a whole crop (already padded) to a whole result.
void resample_reference(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> rgb, Size in,
                        Size size, Filter filter);

}  // namespace tundish
