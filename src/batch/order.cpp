#include "batch/order.h"

#include <bit>
#include <cassert>

#include "core/random.h"

namespace tundish {
namespace {

// Six rounds: four are enough for a pseudo-random permutation of large sets (Luby and Rackoff);
// two more even out sets of a few samples, where a half is a bit or two.
constexpr int kRounds = 6;

// Streams that must not meet those of the augmentations.
constexpr std::uint32_t kSubstituteStream = 0x5b5717e0;
constexpr std::uint32_t kFirstSubstituteRepeat = 1u << 16;

}  // namespace

std::uint64_t permute(std::uint64_t index, std::uint64_t count, std::uint64_t key) {
  assert(index < count);
  if (count == 1) return 0;
  const auto half_bits = (static_cast<unsigned>(std::bit_width(count - 1)) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t x = index;
  do {
    std::uint64_t left = x >> half_bits;
    std::uint64_t right = x & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mix(key + round, right) & mask);
      left = right;
      right = next;
    }
    x = left << half_bits | right;
  } while (x >= count);
  return x;
}

Draw draw_at(const Order& order, std::uint64_t epoch, std::uint64_t position) {
  assert(order.count > 0);
  const std::uint64_t index = position % order.count;
  const auto repeat = static_cast<std::uint32_t>(position / order.count);
  if (!order.shuffle) return {index, repeat};
  return {permute(index, order.count, mix(mix(order.seed), epoch)), repeat};
}

Draw substitute_draw(const Order& order, std::uint64_t epoch, std::uint64_t position,
                     std::uint32_t attempt) {
  Random random({.seed = order.seed, .epoch = epoch, .sample = position, .repeat = attempt},
                kSubstituteStream);
  return {random.below(order.count), kFirstSubstituteRepeat + attempt};
}

}  // namespace tundish
