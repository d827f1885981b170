// When a sample comes again: the order is an invertible function, so the future is known without
// a list.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "data/order/order.h"
#include "data/order/schedule.h"

namespace tundish {

// A place in a run, as a rank walks through it.
struct RunPlace {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  std::uint64_t start = 0;  // of any step of this epoch: a run may go on in the middle of a batch
};

// Thread safety: any thread.
class NextUse {
 public:
  static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

  NextUse(const Order& order, const Schedule& schedule);  // copies what it needs

  // The time of this rank's first visit to a sample at or after a place, counted in positions
  // since epoch 0. kUnknown: not soon, or drawn by weight, which is not invertible. The few
  // visits that pad an epoch's last batch are not foreseen.
  std::uint64_t from(const RunPlace& place, std::uint64_t sample) const;

 private:
  bool is_ours(std::uint64_t position, std::uint64_t start) const;
  std::uint64_t first_ours(std::uint64_t epoch, std::uint64_t at, const RunPlace& place) const;
  std::uint64_t among_every(const RunPlace& place, std::uint64_t index) const;
  std::uint64_t among_groups(const RunPlace& place, std::uint64_t index) const;

  Order order_;
  Schedule schedule_;
  std::uint64_t length_;   // positions of an epoch
  std::uint64_t horizon_;  // epochs, or rounds of a group, that are searched
  std::vector<std::pair<std::uint64_t, std::uint64_t>> index_of_;  // sample, index; sorted
  std::vector<std::uint64_t> first_slot_;                          // of each group, in a block
};

}  // namespace tundish
