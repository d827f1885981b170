// decode="auto": which of CPU and GPU is to decode, measured on the training that is running.
//
// CPU and GPU decode blocks of batches in turn; the pixels are the same. What counts is the GPU's
// time from batch to batch, which contains the step, the wait for data, and what decoding takes
// away from the step. Batches made ahead would hide a decoder that is too slow, so a block is
// measured only when they are used up or when their number stays constant, and the batches it
// gained or lost meanwhile are counted.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/runtime/stream_clock.h"

namespace tundish {

class DecodeChoice {
 public:
  static constexpr int kSettle = 8;     // batches of a block before it may be measured
  static constexpr int kLongest = 64;   // batches after which it is measured in any case
  static constexpr int kMeasured = 20;  // from one batch to the next
  static constexpr int kBlocks = 2;     // of each decoder

  DecodeChoice(std::unique_ptr<cuda::StreamClock> clock, int prefetch)
      : clock_(std::move(clock)), full_(static_cast<std::size_t>(prefetch - 1)) {}

  // Whether the GPU is to decode the batches that are opened from now on.
  bool use_gpu() const { return chosen_.value_or(trying_gpu_); }
  std::optional<bool> chosen() const { return chosen_; }

  // The training loop's stream waits for a batch that the GPU decoded, or not; `ready` batches wait
  // behind it, of `prefetch` at most. Once, the batch after which the choice is made: its reason,
  // for people.
  std::optional<std::string> handed_over(bool on_gpu, std::size_t ready, void* stream);

 private:
  // The marks of its batches, and how many more batches were ready at its end than at its start.
  struct Block {
    std::vector<std::size_t> marks;
    long gained = 0;
  };
  double ms_per_batch(const Block& block) const;
  std::optional<std::string> decide();

  std::unique_ptr<cuda::StreamClock> clock_;  // null once the choice is made
  const std::size_t full_;
  std::optional<bool> chosen_;
  bool trying_gpu_ = false;
  int seen_ = -kSettle;  // batches of this block; the first block settles twice as long
  std::vector<std::size_t> marks_;
  std::size_t ready_at_start_ = 0;
  std::array<std::vector<Block>, 2> blocks_;  // [1]: of the GPU
};

}  // namespace tundish
