// Decodes the images of a data set with many threads, and sums up levels and sizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/info/level_sums.h"
#include "cli/shell.h"
#include "data/source/source.h"

namespace tundish::cli {

struct StatsOptions {
  std::uint64_t samples = 0;  // evenly spaced; 0: all
  std::uint64_t threads = 1;
  bool gray = false;              // levels of Pillow's convert("L"), equal in all channels
  bool exif_orientation = false;  // sizes of the images when turned as their EXIF says
};

// One image that was decoded.
struct SizedImage {
  std::uint64_t record = 0;
  Size size;
};

// The same for any number of threads.
struct ImageStats {
  std::uint64_t looked_at = 0;  // good and bad ones
  LevelSums levels;
  std::vector<SizedImage> images;               // good ones, in the order of the data set
  std::map<std::string, std::uint64_t> codecs;  // of good ones
  std::vector<Error> bad;                       // in the order of the data set
};

// Images that cannot be read or decoded go to `bad`. A source that is read from its beginning only
// (a compressed archive) is decoded by one thread. Draws progress. Throws Error when the machine
// fails, Error(argument) when there are no images or too many pixels, and Error(interrupted).
ImageStats collect_stats(const Source& source, const StatsOptions& options, const Shell& shell);

}  // namespace tundish::cli
