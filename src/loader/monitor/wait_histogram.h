// Histogram of the trainer's wait for each batch. Its size is fixed: a run of months costs as much
// as a run of minutes. Eight steps per doubling, so a quantile is at most 1/8 too high.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tundish {

class WaitHistogram {
 public:
  void add(std::uint64_t ns) {
    ++counts_[step_of(ns)];
    ++count_;
  }

  // Returns the wait that a share `q` of all waits does not exceed; 0 without waits.
  std::uint64_t quantile(double q) const {
    const auto rank =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(q * double(count_))));
    std::uint64_t seen = 0;
    for (std::size_t step = 0; step < counts_.size(); ++step) {
      seen += counts_[step];
      if (seen >= rank) return top_of(step);
    }
    return 0;
  }

 private:
  static std::size_t step_of(std::uint64_t ns) {
    if (ns < 8) return static_cast<std::size_t>(ns);
    const auto exponent = static_cast<unsigned>(std::bit_width(ns)) - 1;
    return std::size_t{exponent - 2} * 8 + static_cast<std::size_t>(ns >> (exponent - 3) & 7);
  }
  static std::uint64_t top_of(std::size_t step) {
    if (step < 8) return step;
    const std::size_t shift = step / 8 - 1;
    return ((std::uint64_t{8 + step % 8} + 1) << shift) - 1;
  }

  std::array<std::uint64_t, std::size_t{62} * 8> counts_{};
  std::uint64_t count_ = 0;
};

}  // namespace tundish
