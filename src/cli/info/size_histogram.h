// Histogram of image sizes. Bins grow with the size, so that a few lines cover thumbnails and scans
// alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tundish::cli {

struct SizeBin {
  std::uint32_t from = 0, to = 0;  // both inclusive
  std::uint64_t count = 0;
};

// Bins start at 1, 2, 3, 4, 6, 8, 12, ...: two bins per doubling. Omits empty bins below the
// smallest and above the largest value. Ignores values of 0.
std::vector<SizeBin> size_histogram(const std::vector<std::uint32_t>& values);

// Formats one line per bin with a bar; the longest bar is `columns` wide.
std::string histogram_text(const std::vector<SizeBin>& bins, std::size_t columns = 40);

}  // namespace tundish::cli
