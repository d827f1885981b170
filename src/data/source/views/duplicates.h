// Samples whose images have the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/source/source.h"

namespace tundish {

struct Duplicate {
  std::uint64_t sample = 0;  // that comes later
  std::uint64_t first = 0;   // the first one with these bytes
  bool operator==(const Duplicate&) const = default;
};

// Among the samples `numbers` (ascending): every sample whose image an earlier one has, ascending.
// Two images are the same when the XXH3-128 of their original bytes is. Reads every image once;
// takes 24 bytes per sample beside what is being read. A sample that cannot be read is none.
// Throws Error(argument) when the source has no images.
std::vector<Duplicate> find_duplicates(
    const Source& source, std::span<const std::uint64_t> numbers, int threads,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress = {});

}  // namespace tundish
