// The parts of a data set by a hash of the key: the part of a sample depends on nothing but its
// key, the seed and the shares, so it stays when data are added.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/source.h"

namespace tundish {

struct SplitPart {
  std::string name;
  double share = 0;  // of the samples, 0 to 1
  bool operator==(const SplitPart&) const = default;
};

// "train=0.9,val=0.1" or "train=90%,val=10%": two parts at least, with names that can be parts of
// file names, and shares above 0 that add up to 1. Throws Error(argument).
std::vector<SplitPart> parse_split(std::string_view text);

// Which part a key belongs to: parts lie one after the other on the range of the hash.
std::size_t part_of_key(const std::vector<SplitPart>& parts, std::uint64_t seed,
                        std::string_view key);

// The numbers of the samples of each part, ascending.
std::vector<std::vector<std::uint64_t>> split_numbers(const Source& source,
                                                      const std::vector<SplitPart>& parts,
                                                      std::uint64_t seed);

}  // namespace tundish
