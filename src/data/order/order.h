// Order: which sample is at which position of an epoch. A function, not a list: O(1), the
// same on every rank and thread, and nothing to store or to send.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/order/alias_table.h"

namespace tundish {

// How an epoch is drawn; docs/internals/order.md specifies what each kind promises.
enum class Sampling : std::uint8_t {
  every = 0,     // each sample once
  weighted = 1,  // with replacement, by weight
  groups = 2,    // groups in fixed shares, each group's samples in turn
  listed = 3,    // the listed samples, each as often as it is listed
};
constexpr std::array<const char*, 4> words(Sampling) {
  return {"every", "weighted", "groups", "listed"};
}

// Changes whenever draw_at() gives another sample for the same seed; a saved state names it.
constexpr int kOrderVersion = 2;

// Plain data for draw_at(). The default is every sample once; data/order/sampling.h makes the
// others.
struct Order {
  std::uint64_t count = 0;  // samples that may be drawn
  std::uint64_t seed = 0;
  bool shuffle = false;
  Sampling sampling = Sampling::every;
  std::uint64_t draws = 0;    // positions of an epoch; 0: count
  std::uint32_t repeats = 1;  // every draw comes so often in a row
  std::vector<std::uint64_t> samples =
      {};                   // their numbers, when not 0 .. count-1; group after group
  AliasTable weights = {};  // of Sampling::weighted

  // Of Sampling::listed, if a sample is listed again: how often each entry's sample was listed
  // before it, and the largest number of times that a sample is listed.
  std::vector<std::uint32_t> earlier_entries = {};
  std::uint32_t most_entries = 1;

  // Of Sampling::groups. A block of slots.size() draws holds `share` draws of every group.
  struct Group {
    std::uint64_t first = 0, count = 0;  // its samples
    std::uint64_t share = 0;
  };
  struct SlotOfBlock {
    std::uint32_t group = 0;
    std::uint32_t number = 0;  // among the draws of this group in a block
  };
  std::vector<Group> groups = {};
  std::vector<SlotOfBlock> slots = {};
};

// One visit to a sample. A sample drawn twice in an epoch has two repeat numbers, and so two
// independent augmentations.
struct Draw {
  std::uint64_t sample = 0;
  std::uint64_t repeat = 0;
  bool operator==(const Draw&) const = default;
};

// Positions of an epoch.
std::uint64_t epoch_length(const Order& order);

// Positions 0 .. epoch_length-1 are an epoch; later ones (padding of the last batch) continue in
// the same manner. count must not be 0.
Draw draw_at(const Order& order, std::uint64_t epoch, std::uint64_t position);

// The substitute of a sample that cannot be read: a draw of the same order (of the same group)
// keyed by the position it was to fill, so that no other position moves. attempt = 0, 1, ... 255
Draw substitute_draw(const Order& order, std::uint64_t epoch, std::uint64_t position,
                     std::uint32_t attempt);

// A bijection of 0 .. count-1 chosen by the key. Up to 64 numbers: a list drawn by the key, every
// order equally likely. More: a Feistel network over the next power of four, walked until it lands
// inside, at most four steps on average. Both take no memory but the stack.
std::uint64_t permute(std::uint64_t index, std::uint64_t count, std::uint64_t key);
std::uint64_t unpermute(std::uint64_t index, std::uint64_t count, std::uint64_t key);

// Keys of the permutations, for finding the position of a sample (next_use.h): of an epoch of
// Sampling::every; of the slots of a block, and of a group's samples in a round, of
// Sampling::groups. Blocks and rounds go on from epoch to epoch; before an epoch there were
// draws_before().
std::uint64_t epoch_key(const Order& order, std::uint64_t epoch);
std::uint64_t block_key(const Order& order, std::uint64_t block);
std::uint64_t round_key(const Order& order, std::uint64_t group, std::uint64_t round);
std::uint64_t draws_before(const Order& order, std::uint64_t epoch);

}  // namespace tundish
