// Pillow 12's resize for 8-bit RGB, bit for bit, as a stream: rows in, rows out.
// Horizontal pass first, each pass rounded to 8 bits, 22-bit integer weights.
//
// The weights are computed in double in Pillow's order of operations; every instruction set
// gives the same bytes, and resample_slowly() is the twin that tests compare them with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "augment/plan.h"
#include "core/cpu.h"
#include "core/image.h"

namespace tundish {

// For each kept output: the first input it needs, and its weights.
struct Taps {
  int count = 0;                     // weights per output; shorter ones end in zeros
  std::vector<int> first;            // first input of output i
  std::vector<int> used;             // number of inputs of output i, at most count
  std::vector<std::int32_t> weight;  // count per output, 22 fractional bits
};

// Outputs keep_from .. keep_from + keep - 1 of a line of `in` samples resized to `out`.
void make_taps(Taps& taps, int in, int out, int keep_from, int keep, Filter filter);

// Receives finished rows of a stage, top to bottom before mirroring. `y` already is the row's
// place after mirror_y; `mirror_x` is for the receiver to carry out. Interleaved RGB.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void row(int y, const std::uint8_t* rgb, int width, bool mirror_x) = 0;
};

// Carries out one stage. Reused from sample to sample: its buffers only grow.
class Resample : public StripSink {
 public:
  explicit Resample(Cpu cpu = tundish::cpu()) : cpu_(cpu) {}

  // Prepares for a stage over an input of `image` pixels; rows go to `out`.
  void begin(const Stage& stage, Size image, RowSink& out);

  // The part of the input that the stage reads; width or height 0 when it is all padding.
  Window needed() const { return needed_; }

  // Strips must cover needed(), top to bottom.
  void push(const Strip& strip) override;

  // Emits what is left (rows of padding at the bottom). Call once after the last push.
  void finish();

 private:
  Cpu cpu_;
  Window needed_;
  // the rest is the implementation's
};

// The obviously right twin: a whole crop (already padded) to a whole result.
void resample_slowly(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> rgb, Size in,
                     Size size, Filter filter);

}  // namespace tundish
