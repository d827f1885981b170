#include "data/order/next_use.h"

#include <algorithm>

namespace tundish {

NextUse::NextUse(const Order& order, const Schedule& schedule)
    : order_(order),
      schedule_(schedule),
      length_(epoch_length(order)),
      // On average, a rank sees a sample once in world_size epochs, or less often when an epoch
      // does not draw every sample.
      horizon_(std::min<std::uint64_t>(
          2 + 4 * std::uint64_t{schedule.world_size} *
                  (order.count * order.repeats / std::max<std::uint64_t>(length_, 1) + 1),
          512)) {
  for (std::uint64_t i = 0; i < order_.samples.size(); ++i) {
    index_of_.emplace_back(order_.samples[static_cast<std::size_t>(i)], i);
  }
  std::sort(index_of_.begin(), index_of_.end());
  order_.samples.clear();
  order_.earlier_entries.clear();
  order_.weights = {};
  std::uint64_t slots = 0;  // make_order() puts the slots of a group side by side
  for (const Order::Group& group : order_.groups) {
    first_slot_.push_back(slots);
    slots += group.share;
  }
}

bool NextUse::is_ours(std::uint64_t position, std::uint64_t start) const {
  const std::uint64_t global = std::uint64_t{schedule_.batch_size} * schedule_.world_size;
  const std::uint64_t phase = start % global;
  if (position >= length_ || position < phase) return false;
  const std::uint64_t step_start = phase + (position - phase) / global * global;
  if (steps_from(schedule_, step_start) == 0) return false;  // dropped
  const Step step = step_at(schedule_, step_start);
  return position >= step.first && position - step.first < step.size;
}

// Returns the first repeat of the draw that this rank takes at or after the place.
std::uint64_t NextUse::first_ours(std::uint64_t epoch, std::uint64_t at,
                                  const RunPlace& place) const {
  const bool same = epoch == place.epoch;
  for (std::uint64_t p = at * order_.repeats; p < (at + 1) * order_.repeats; ++p) {
    if (same && p < place.position) continue;
    if (is_ours(p, same ? place.start : 0)) return epoch * length_ + p;
  }
  return kUnknown;
}

std::uint64_t NextUse::among_every(const RunPlace& place, std::uint64_t index) const {
  const std::uint64_t draws = (length_ + order_.repeats - 1) / order_.repeats;
  for (std::uint64_t e = place.epoch; e < place.epoch + horizon_; ++e) {
    std::uint64_t at =
        order_.shuffle ? unpermute(index, order_.count, epoch_key(order_, e)) : index;
    for (; at < draws; at += order_.count) {
      const std::uint64_t time = first_ours(e, at, place);
      if (time != kUnknown) return time;
    }
  }
  return kUnknown;
}

std::uint64_t NextUse::among_groups(const RunPlace& place, std::uint64_t index) const {
  const auto later = [](std::uint64_t i, const Order::Group& group) { return i < group.first; };
  const auto next = std::upper_bound(order_.groups.begin(), order_.groups.end(), index, later);
  const auto g = static_cast<std::size_t>(next - order_.groups.begin()) - 1;
  const Order::Group& group = order_.groups[g];
  const std::uint64_t number = index - group.first;
  const std::uint64_t slots = order_.slots.size(), draws = draws_before(order_, 1);
  const std::uint64_t now = draws_before(order_, place.epoch) + place.position / order_.repeats;
  const std::uint64_t round = now / slots * group.share / group.count;
  std::uint64_t best = kUnknown, best_block = 0;
  // Once a visit is found, the rest of its block is looked at, also beyond the horizon.
  for (std::uint64_t r = round; r < round + horizon_ || best != kUnknown; ++r) {
    const std::uint64_t turn =
        r * group.count +
        (order_.shuffle ? unpermute(number, group.count, round_key(order_, g, r)) : number);
    const std::uint64_t block = turn / group.share;
    if (best != kUnknown && block > best_block) break;
    std::uint64_t slot = first_slot_[g] + turn % group.share;
    if (order_.shuffle) slot = unpermute(slot, slots, block_key(order_, block));
    const std::uint64_t visit = block * slots + slot;
    if (visit < now) continue;
    const std::uint64_t time = first_ours(visit / draws, visit % draws, place);
    if (time >= best) continue;
    best = time;  // a sample of a small group may occur twice in a block, in any order
    best_block = block;
  }
  return best;
}

std::uint64_t NextUse::from(const RunPlace& place, std::uint64_t sample) const {
  if (order_.sampling == Sampling::weighted) return kUnknown;
  const auto among = [&](std::uint64_t index) {
    return order_.sampling == Sampling::groups ? among_groups(place, index)
                                               : among_every(place, index);
  };
  if (index_of_.empty()) return sample < order_.count ? among(sample) : kUnknown;
  std::uint64_t best = kUnknown;
  for (auto found = std::lower_bound(index_of_.begin(), index_of_.end(), std::pair{sample, 0ul});
       found != index_of_.end() && found->first == sample; ++found) {
    best = std::min(best, among(found->second));
  }
  return best;
}

}  // namespace tundish
