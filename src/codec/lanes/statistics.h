// How often each symbol came, and the tables that follow from it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codec/lanes/train.h"

namespace tundish::lanes {

using Counts = std::array<double, 256>;

inline constexpr int kMaskContexts = 2 * kOctets * kContexts;  // of one set
inline constexpr int kMagnitudes = 128;                        // larger ones count as 128

constexpr std::size_t mask_context(bool chroma, int octet, int context) {
  return static_cast<std::size_t>((chroma * kOctets + octet) * kContexts + context);
}

// The symbols of all units of one kind of image.
struct Statistics {
  std::vector<Counts> start = std::vector<Counts>(2);
  std::vector<Counts> mask = std::vector<Counts>(kMaskContexts);
  std::vector<float> values = std::vector<float>(std::size_t{2} * 64 * 64 * kMagnitudes);
  double blocks = 0;

  void add(const ImageSample::Unit& unit, double weight);
};

// Frequent symbols get a place in the table, the others share the escape.
Frequencies fit_table(const Counts& counts);

// Contexts of all sets share kMaskTables tables: returns the number of each context's table, and
// the counts of each table.
std::vector<int> join_contexts(const std::vector<Counts>& contexts, std::vector<Counts>& tables);

// For every row the parameter with the fewest bits.
void fit_rice(TableSet& out, const Statistics& statistics);

}  // namespace tundish::lanes
