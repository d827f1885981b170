// Several sources as one, where classes and keys need not be the same numbers and distinct.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

struct Merge {
  std::shared_ptr<const Source> source;
  std::uint64_t relabeled = 0;  // samples whose label has another number than before
  struct Renamed {
    std::size_t part = 0;  // which of the sources
    std::string before, now;
  };
  std::vector<Renamed> renamed;  // in order
};

// The samples of all sources in order. Fields must be the same. Classes are joined by name: those
// of the first source keep their numbers, new ones follow in the order in which they come; labels
// are renumbered. A key that came before is Error(argument) with both places, or with `rename`
// becomes NAME-2.jpg, NAME-3.jpg, ... Takes about 24 bytes per sample. Throws Error(argument).
Merge merge_sources(const std::vector<std::shared_ptr<const Source>>& sources, bool rename);

}  // namespace tundish
