// Ledger of a loader's bad samples: counts them, keeps the first, and fails if there are too many.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "loader/engine/ring.h"
#include "loader/monitor/bad_sample.h"

namespace tundish {

// Not thread-safe.
class BadLedger {
 public:
  static constexpr std::size_t kKept = 10'000;

  // `max_bad`: maximum share of an epoch's samples that may be bad; negative disables the check.
  BadLedger(std::string file, double max_bad) : file_(std::move(file)), max_bad_(max_bad) {}

  // Records a complete batch. `first`: true for the first batch of an epoch.
  void record(const Slot& slot, bool first);

  // Records a sample of an already recorded batch whose image turned out to be zeros. `judged`: the
  // sample counts against max_bad if it belongs to the current epoch of the check.
  void record_zeros(BadSample sample, bool judged);

  // Throws Error(too_many_bad) if no sample was good so far.
  // `delivered`: number of images in the batch just recorded; `last`: it is the last of its epoch.
  void check_any_good(std::uint64_t delivered, bool last);

  // Returns an error if the share exceeds max_bad, then restarts the count.
  std::optional<Error> take_error(bool last);

  std::uint64_t replaced() const { return replaced_; }  // number of positions, like skipped()
  std::uint64_t skipped() const { return skipped_; }
  std::uint64_t zeros() const { return zeros_; }
  std::uint64_t bad() const { return bad_; }  // number of samples; a replacement may also be bad
  const std::vector<BadSample>& first() const { return first_; }

 private:
  void judge(const BadSample& sample);
  void keep(const BadSample& sample);

  const std::string file_;
  const double max_bad_;
  std::uint64_t replaced_ = 0, skipped_ = 0, zeros_ = 0, bad_ = 0, delivered_ = 0;
  std::vector<BadSample> first_;

  struct Budget {  // counts since the epoch's start, or since max_bad was exceeded
    std::uint64_t epoch = 0;
    bool whole = false;  // counted from the start of the epoch, so its end is checked
    std::uint64_t drawn = 0, bad = 0;
    std::string examples = {};
    int named = 0;
  } budget_;
};

}  // namespace tundish
