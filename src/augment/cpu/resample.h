// Pillow 12's resize for 8-bit RGB, bit for bit, as a stream of rows.
// Horizontal pass first, each pass rounded to 8 bits, 22-bit integer weights (augment/cpu/taps.h).
//
// Every instruction set produces the same bytes. Tests compare them with the reference
// implementation, resample_reference().
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

// Receives the finished rows of a step as interleaved RGB, in order from top to bottom before
// mirroring. `y` already includes mirror_y; the receiver must apply `mirror_x`.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void row(int y, const std::uint8_t* rgb, int width, bool mirror_x) = 0;

  // Returns the memory of row y if the sink stores unchanged rows contiguously. The caller may then
  // write the row there instead of calling row(). Returns nullptr otherwise.
  virtual std::uint8_t* place_of(int /*y*/, int /*width*/) { return nullptr; }
};

// Runs one step. Reused across samples: its buffers only grow. Not thread-safe.
class Resample : public StripSink {
 public:
  explicit Resample(Cpu cpu = tundish::cpu()) : cpu_(cpu), passes_(passes_of(cpu)) {}

  // Prepares a step over an input of `image` pixels; rows go to `out`.
  void begin(const ResizeStep& step, Size image, RowSink& out);

  // The part of the input that the step reads; width or height is 0 if everything is padding.
  Window needed() const { return needed_; }

  // Strips must cover needed() from top to bottom; pixels outside needed() are ignored.
  void push(const Strip& strip) override;

  // Emits the remaining rows (padding at the bottom). Call once after the last push.
  void finish();

  // Upper bound of the memory of a step; depends on the step and the input size only.
  static std::uint64_t bytes(const ResizeStep& step, Size image);
  std::uint64_t held() const;  // bytes allocated by the buffers so far

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

  int next_input_ = 0;   // next row of the image that push() expects
  int next_row_ = 0;     // next row of the crop for the horizontal pass
  int next_output_ = 0;  // next kept row to emit

  const std::uint8_t* row_[kMaxRows] = {};  // rows waiting for the horizontal pass
  int rows_ = 0;
  std::size_t row_bytes_ = 0;  // bytes of a cropped row
  std::size_t row_reach_ = 0;  // row_bytes_ plus what the horizontal pass may read past the row
  std::uint8_t* ring_ = nullptr;
  std::size_t slot_bytes_ = 0;
  int slots_ = 0;

  Buffer held_;    // all needed rows, if there is padding above or below
  Buffer fill_;    // a row of padding
  Buffer staged_;  // copies of rows that cannot be read in place
  Buffer slot_memory_;
  Buffer table_x_, table_y_;
  Buffer result_;  // one row after the vertical pass
};

// Reference implementation: resizes a whole crop, which is already padded.
void resample_reference(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> rgb, Size in,
                        Size size, Filter filter);

}  // namespace tundish
