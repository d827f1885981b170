// Predicts when a sample is next used. The order is an invertible function, so no list is
// needed.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "data/order/order.h"
#include "data/order/schedule.h"

namespace tundish {

// A rank's place in a run.
struct RunPlace {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  std::uint64_t start = 0;  // start of any step of this epoch: a resumed run may start in a batch
};

// Safe to call from any thread.
class NextUse {
 public:
  static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

  NextUse(const Order& order, const Schedule& schedule);  // copies what it needs

  // Returns when this rank next visits a sample at or after a place, counted in positions since
  // epoch 0. Returns kUnknown if the visit is too far ahead, or if samples are drawn by weight,
  // which is not invertible. Does not predict the few visits that pad an epoch's last batch.
  std::uint64_t from(const RunPlace& place, std::uint64_t sample) const;

 private:
  bool is_ours(std::uint64_t position, std::uint64_t start) const;
  std::uint64_t first_ours(std::uint64_t epoch, std::uint64_t at, const RunPlace& place) const;
  std::uint64_t among_every(const RunPlace& place, std::uint64_t index) const;
  std::uint64_t among_groups(const RunPlace& place, std::uint64_t index) const;

  Order order_;
  Schedule schedule_;
  std::uint64_t length_;   // positions per epoch
  std::uint64_t horizon_;  // epochs (or rounds of a group) to search
  std::vector<std::pair<std::uint64_t, std::uint64_t>> index_of_;  // (sample, index), sorted
  std::vector<std::uint64_t> first_slot_;                          // per group, in a block
};

}  // namespace tundish
