// How many images have which size, in bins that grow with the size: a few lines show thumbnails and
// scans alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tundish::cli {

struct SizeBin {
  std::uint32_t from = 0, to = 0;  // both inside
  std::uint64_t count = 0;
};

// Bins begin at 1, 2, 3, 4, 6, 8, 12, ...: two for each doubling. Empty bins outside the smallest
// and the largest value are left out. Values of 0 are not counted.
std::vector<SizeBin> size_histogram(const std::vector<std::uint32_t>& values);

// One line per bin with a bar; the longest bar has this many columns.
std::string histogram_text(const std::vector<SizeBin>& bins, std::size_t columns = 40);

}  // namespace tundish::cli
