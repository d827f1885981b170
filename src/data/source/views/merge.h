// Merges several sources whose class numbers and keys may conflict.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

struct Merge {
  std::shared_ptr<const Source> source;
  std::uint64_t relabeled = 0;  // samples whose label number changed
  struct Renamed {
    std::size_t part = 0;  // index of the source
    std::string before, now;
  };
  std::vector<Renamed> renamed;  // in sample order
};

// Returns the samples of all sources in order. Fields must be equal. Classes are joined by name:
// classes of the first source keep their numbers, new classes follow in order of occurrence, and
// labels are renumbered. A repeated key is Error(argument) with both places, or, with `rename`,
// becomes NAME-2.jpg, NAME-3.jpg, ... Takes about 24 bytes per sample. Throws Error(argument).
Merge merge_sources(const std::vector<std::shared_ptr<const Source>>& sources, bool rename);

}  // namespace tundish
