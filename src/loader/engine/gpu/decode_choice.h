// decode="auto": chooses CPU or GPU decoding by measuring the running training.
//
// CPU and GPU decode alternating blocks of batches; the pixels are the same. The measure is the
// GPU's time from batch to batch. It includes the step, the wait for data, and the time that
// decoding takes from the step. Batches made ahead would hide a slow decoder. So a block is
// measured only when these batches are used up, or when their number stays constant. The result
// includes the number of batches gained or lost during the block.
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
  static constexpr int kSettle = 8;     // batches of a block before measuring starts
  static constexpr int kLongest = 64;   // batches after which measuring starts in any case
  static constexpr int kMeasured = 20;  // batch intervals per measurement
  static constexpr int kBlocks = 2;     // blocks per decoder

  DecodeChoice(std::unique_ptr<cuda::StreamClock> clock, int prefetch)
      : clock_(std::move(clock)), full_(static_cast<std::size_t>(prefetch - 1)) {}

  // Whether a GPU decodes the batches opened from now on.
  bool use_gpu() const { return chosen_.value_or(trying_gpu_); }
  std::optional<bool> chosen() const { return chosen_; }

  // Reports that the training loop's stream waits for a batch, decoded by the GPU or not. `ready`
  // batches, of `prefetch` at most, wait behind it. Returns the reason once, after the batch that
  // decides the choice.
  std::optional<std::string> delivered(bool on_gpu, std::size_t ready, void* stream);

 private:
  // The marks of a block's batches, and the change of the number of ready batches.
  struct Block {
    std::vector<std::size_t> marks;
    long gained = 0;
  };
  double ms_per_batch(const Block& block) const;
  std::optional<std::string> decide();

  std::unique_ptr<cuda::StreamClock> clock_;  // null after the choice is made
  const std::size_t full_;
  std::optional<bool> chosen_;
  bool trying_gpu_ = false;
  int seen_ = -kSettle;  // batches of this block; the first block settles twice as long
  std::vector<std::size_t> marks_;
  std::size_t ready_at_start_ = 0;
  std::array<std::vector<Block>, 2> blocks_;  // [0]: CPU, [1]: GPU
};

}  // namespace tundish
