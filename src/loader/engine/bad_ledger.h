// All bad samples of a loader: counted, the first ones kept, and an error when there are too many.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "loader/engine/ring.h"
#include "loader/monitor/bad_sample.h"

namespace tundish {

// Not for several threads at once.
class BadLedger {
 public:
  static constexpr std::size_t kKept = 10'000;

  // `max_bad`: the share of an epoch's samples that may be bad; negative for any.
  BadLedger(std::string file, double max_bad) : file_(std::move(file)), max_bad_(max_bad) {}

  // Enters a batch that is complete. `first`: of its epoch, which is then drawn from its beginning.
  void enter(const Slot& slot, bool first);

  // Enters a sample of a batch that was entered before: its image turned out to be zeros. `judged`:
  // it counts against max_bad, if it is of the epoch that is judged.
  void enter_zeros(BadSample sample, bool judged);

  // Throws Error(too_many_bad) when not one sample was good so far.
  // `delivered`: images of the batch that was entered; `last`: it is the last of its epoch.
  void check_any_good(std::uint64_t delivered, bool last);

  // The error when more than max_bad were bad, once; then the count begins again.
  std::optional<Error> verdict(bool last);

  std::uint64_t replaced() const { return replaced_; }  // positions, as skipped()
  std::uint64_t skipped() const { return skipped_; }
  std::uint64_t zeros() const { return zeros_; }
  std::uint64_t bad() const { return bad_; }  // samples: a replacement may be bad too
  const std::vector<BadSample>& first() const { return first_; }

 private:
  void judge(const BadSample& sample);
  void keep(const BadSample& sample);

  const std::string file_;
  const double max_bad_;
  std::uint64_t replaced_ = 0, skipped_ = 0, zeros_ = 0, bad_ = 0, delivered_ = 0;
  std::vector<BadSample> first_;

  struct Budget {  // of the epoch, or since it was last exceeded
    std::uint64_t epoch = 0;
    bool whole = false;  // drawn from its beginning: its end is worth a verdict
    std::uint64_t drawn = 0, bad = 0;
    std::string examples = {};
    int named = 0;
  } budget_;
};

}  // namespace tundish
