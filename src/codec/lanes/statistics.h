// Symbol counts, and the tables derived from them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codec/lanes/train.h"

namespace tundish::lanes {

using Counts = std::array<double, 256>;

inline constexpr int kMaskContexts = 2 * kOctets * kContexts;  // per set
inline constexpr int kMagnitudes = 128;                        // larger magnitudes count as 128

constexpr std::size_t mask_context(bool chroma, int octet, int context) {
  return static_cast<std::size_t>((chroma * kOctets + octet) * kContexts + context);
}

// Counts the symbols of all units of one kind of image.
struct Statistics {
  std::vector<Counts> start = std::vector<Counts>(2);
  std::vector<Counts> mask = std::vector<Counts>(kMaskContexts);
  std::vector<float> values = std::vector<float>(std::size_t{2} * 64 * 64 * kMagnitudes);
  double blocks = 0;

  void add(const ImageSample::Unit& unit, double weight);
};

// Gives frequent symbols a slot in the table; the other symbols share the escape.
Frequencies fit_table(const Counts& counts);

// Assigns the contexts of all sets to kMaskTables shared tables. Returns the table number of each
// context; `tables` receives the counts of each table.
std::vector<int> join_contexts(const std::vector<Counts>& contexts, std::vector<Counts>& tables);

// Chooses the parameter with the fewest bits for every row.
void fit_rice(TableSet& out, const Statistics& statistics);

}  // namespace tundish::lanes
