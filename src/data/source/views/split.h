// Splits a dataset by a hash of the key. The part of a sample depends only on its key, the seed
// and the shares, so it does not change when data are added.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/source.h"

namespace tundish {

struct SplitPart {
  std::string name;
  double share = 0;  // share of the samples, 0 to 1
  bool operator==(const SplitPart&) const = default;
};

// Parses "train=0.9,val=0.1" or "train=90%,val=10%": at least two parts, with names valid in file
// names, and shares above 0 that add up to 1. Throws Error(argument).
std::vector<SplitPart> parse_split(std::string_view text);

// Returns the part of a key: parts are consecutive ranges of the hash.
std::size_t part_of_key(const std::vector<SplitPart>& parts, std::uint64_t seed,
                        std::string_view key);

// Returns the sample numbers of each part, ascending.
std::vector<std::vector<std::uint64_t>> split_numbers(const Source& source,
                                                      const std::vector<SplitPart>& parts,
                                                      std::uint64_t seed);

}  // namespace tundish
