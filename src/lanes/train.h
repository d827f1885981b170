// Makes the tables that suit a data set: count the symbols of a sample of it, then fit.
#pragma once

#include <cstdint>
#include <vector>

#include "lanes/symbols.h"
#include "lanes/tables.h"

namespace tundish::lanes {

// What was counted. Counts of several threads may be added up; the order does not matter.
class Statistics {
 public:
  Statistics();

  void add(const UnitSymbols& unit);
  void add(const Statistics& other);
  std::uint64_t blocks() const { return blocks_; }

  // A pure function of the counts. Every table codes any data: what was never seen costs more.
  void fit(Tables& out) const;

 private:
  static constexpr int kMagnitudes = 128;  // larger ones count as 128

  using Symbols = std::array<std::uint64_t, 256>;
  void fit_masks(Tables& out) const;
  void fit_rice(Tables& out) const;

  std::uint64_t blocks_ = 0;
  std::vector<Symbols> start_;         // [2]
  std::vector<Symbols> mask_;          // [2][kOctets][kContexts]
  std::vector<std::uint32_t> values_;  // [2][64 non-zero][64 rank][kMagnitudes]
};

}  // namespace tundish::lanes
