// Finds samples whose images have the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/source/source.h"

namespace tundish {

struct Duplicate {
  std::uint64_t sample = 0;  // the later sample
  std::uint64_t first = 0;   // the first sample with these bytes
  bool operator==(const Duplicate&) const = default;
};

// Returns, ascending, every sample among `numbers` (ascending) whose image equals an earlier image.
// Two images are equal if the XXH3-128 digests of their original bytes are. Reads every image once;
// takes 24 bytes per sample besides the sample being read. An unreadable sample is no duplicate.
// Throws Error(argument) if the source has no images.
std::vector<Duplicate> find_duplicates(
    const Source& source, std::span<const std::uint64_t> numbers, int threads,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress = {});

}  // namespace tundish
