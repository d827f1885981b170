#include "loader/engine/gpu/decode_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tundish {

std::optional<std::string> DecodeChoice::delivered(bool on_gpu, std::size_t ready, void* stream) {
  if (chosen_) return {};
  try {
    if (blocks_[1].size() == kBlocks) return decide();
    if (on_gpu != trying_gpu_) return {};  // left over from the previous block
    ++seen_;
    const bool settled = seen_ > kSettle && (ready == 0 || ready >= full_);
    if (!marks_.empty()) {
      marks_.push_back(clock_->mark(stream));
    } else if (settled || seen_ > kLongest) {
      marks_ = {clock_->mark(stream)};
      ready_at_start_ = ready;
    }
    if (marks_.size() <= kMeasured) return {};
    const long gained = static_cast<long>(ready) - static_cast<long>(ready_at_start_);
    blocks_[on_gpu].push_back({std::exchange(marks_, {}), ready < full_ ? gained : 0});
    seen_ = 0;
    trying_gpu_ = !trying_gpu_;
    return {};
  } catch (const Error& error) {  // does not affect the batches
    chosen_ = false;
    clock_.reset();
    return fmt::format("decode=\"auto\": not measured ({}); the CPU decodes", error.reason());
  }
}

// Milliseconds per batch made, without the longest wait, which is a pause of the program itself.
double DecodeChoice::ms_per_batch(const Block& block) const {
  double sum = 0, longest = 0;
  for (std::size_t i = 1; i < block.marks.size(); ++i) {
    const double ms = clock_->ms_between(block.marks[i - 1], block.marks[i]);
    sum += ms;
    longest = std::max(longest, ms);
  }
  const auto spans = static_cast<double>(block.marks.size() - 1);
  const double made = std::max(spans + static_cast<double>(block.gained), 1.0);
  return (sum - longest) / (spans - 1) * spans / made;
}

// Decides as soon as the GPU has passed the last mark.
std::optional<std::string> DecodeChoice::decide() {
  std::array<double, 2> ms{};
  for (const bool gpu : {false, true}) {
    for (const Block& block : blocks_[gpu]) {
      if (!clock_->passed(block.marks.back())) return {};
    }
    // Takes the better block of each decoder: a pause may have hit the other block.
    ms[gpu] = std::min(ms_per_batch(blocks_[gpu][0]), ms_per_batch(blocks_[gpu][1]));
  }
  chosen_ = ms[1] < ms[0];
  clock_.reset();
  return fmt::format(
      "decode=\"auto\": a batch takes {:.2f} ms when the GPU decodes, {:.2f} ms when the CPU does; "
      "from now on the {} does",
      ms[1], ms[0], *chosen_ ? "GPU" : "CPU");
}

}  // namespace tundish
