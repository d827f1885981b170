// Order: which sample stands at which position of an epoch. A function, not a list: O(1), the
// same on every rank and thread, and nothing to store or to send.
#pragma once

#include <cstdint>

namespace tundish {

struct Order {
  std::uint64_t count = 0;  // samples
  std::uint64_t seed = 0;
  bool shuffle = false;
};

// One visit to a sample. A sample drawn twice in an epoch has two repeat numbers, and so two
// independent augmentations.
struct Draw {
  std::uint64_t sample = 0;
  std::uint32_t repeat = 0;
  bool operator==(const Draw&) const = default;
};

// Positions 0 .. count-1 visit every sample once; positions from `count` on go round again
// (padding of the last batch). count must not be 0.
Draw draw_at(const Order& order, std::uint64_t epoch, std::uint64_t position);

// What stands in for a sample that cannot be read: a draw keyed by the position it was to fill,
// so that no other position moves. attempt = 0, 1, ...
Draw substitute_draw(const Order& order, std::uint64_t epoch, std::uint64_t position,
                     std::uint32_t attempt);

// A bijection of 0 .. count-1 chosen by the key: a Feistel network over the next power of four,
// walked until it lands inside. At most four steps on average.
std::uint64_t permute(std::uint64_t index, std::uint64_t count, std::uint64_t key);

}  // namespace tundish
