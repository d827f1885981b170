// Maps each position of an epoch to a sample. The order is an O(1) function, not a list: it is the
// same on every rank and thread, with nothing to store or send.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/order/alias_table.h"

namespace tundish {

// How an epoch is drawn. docs/internals/order.md specifies the guarantees of each kind.
enum class Sampling : std::uint8_t {
  every = 0,     // each sample once
  weighted = 1,  // with replacement, by weight
  groups = 2,    // groups in fixed shares; each group's samples in turn
  listed = 3,    // the listed samples, each as often as listed
};
constexpr std::array<const char*, 4> words(Sampling) {
  return {"every", "weighted", "groups", "listed"};
}

// Changes whenever draw_at() returns another sample for the same seed; stored in saved states.
constexpr int kOrderVersion = 2;

// Plain data for draw_at(). By default, draws every sample once; data/order/sampling.h builds the
// other kinds.
struct Order {
  std::uint64_t count = 0;  // samples that may be drawn
  std::uint64_t seed = 0;
  bool shuffle = false;
  Sampling sampling = Sampling::every;
  std::uint64_t draws = 0;    // positions per epoch; 0: count
  std::uint32_t repeats = 1;  // consecutive positions per draw
  std::vector<std::uint64_t> samples =
      {};                   // sample numbers if not 0 .. count-1; one group after another
  AliasTable weights = {};  // for Sampling::weighted

  // For Sampling::listed with repeated samples: how often each entry's sample was listed before the
  // entry, and the largest number of times that any sample is listed.
  std::vector<std::uint32_t> earlier_entries = {};
  std::uint32_t most_entries = 1;

  // For Sampling::groups. A block of slots.size() draws holds `share` draws of every group.
  struct Group {
    std::uint64_t first = 0, count = 0;  // its samples, as a range of indices
    std::uint64_t share = 0;
  };
  struct SlotOfBlock {
    std::uint32_t group = 0;
    std::uint32_t number = 0;  // index among the group's draws in a block
  };
  std::vector<Group> groups = {};
  std::vector<SlotOfBlock> slots = {};
};

// One visit to a sample. A sample drawn twice in an epoch gets two repeat numbers and therefore
// two independent augmentations.
struct Draw {
  std::uint64_t sample = 0;
  std::uint64_t repeat = 0;
  bool operator==(const Draw&) const = default;
};

// Returns the number of positions in an epoch.
std::uint64_t epoch_length(const Order& order);

// Positions 0 .. epoch_length-1 form an epoch. Later positions, which pad the last batch, continue
// in the same manner. `count` must not be 0.
Draw draw_at(const Order& order, std::uint64_t epoch, std::uint64_t position);

// Returns a substitute for a sample that cannot be read: a draw of the same order (and group),
// keyed by the position to fill, so that no other position changes. attempt = 0, 1, ... 255
Draw substitute_draw(const Order& order, std::uint64_t epoch, std::uint64_t position,
                     std::uint32_t attempt);

// A bijection of 0 .. count-1 chosen by the key. Up to 64 numbers: a list drawn by the key, every
// order equally likely. More: a Feistel network over the next power of four, repeated until the
// result is in range, four times at most on average. Both use only the stack.
std::uint64_t permute(std::uint64_t index, std::uint64_t count, std::uint64_t key);
std::uint64_t unpermute(std::uint64_t index, std::uint64_t count, std::uint64_t key);

// Keys of the permutations, used to find the position of a sample (next_use.h). Sampling::every
// permutes each epoch. Sampling::groups permutes the slots of each block and a group's samples in
// each round. Blocks and rounds continue across epochs; draws_before() counts the draws of all
// earlier epochs.
std::uint64_t epoch_key(const Order& order, std::uint64_t epoch);
std::uint64_t block_key(const Order& order, std::uint64_t block);
std::uint64_t round_key(const Order& order, std::uint64_t group, std::uint64_t round);
std::uint64_t draws_before(const Order& order, std::uint64_t epoch);

}  // namespace tundish
