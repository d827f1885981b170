// Decodes the images of a dataset with many threads, and sums levels and sizes.
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
  bool gray = false;              // levels as in Pillow's convert("L"), equal in all channels
  bool exif_orientation = false;  // sizes after rotation by EXIF
};

// One decoded image.
struct SizedImage {
  std::uint64_t record = 0;
  Size size;
};

// Statistics of a dataset, identical for any number of threads.
struct ImageStats {
  std::uint64_t looked_at = 0;  // good and bad images
  LevelSums levels;
  std::vector<SizedImage> images;               // good images, in dataset order
  std::map<std::string, std::uint64_t> codecs;  // count of good images per codec
  std::vector<Error> bad;                       // in dataset order
};

// Collects unreadable and undecodable images in `bad`. A source without random access (a compressed
// archive) is decoded by one thread. Draws progress. Throws Error if the machine fails,
// Error(argument) if there are no images or too many pixels, and Error(interrupted).
ImageStats collect_stats(const Source& source, const StatsOptions& options, const Shell& shell);

}  // namespace tundish::cli
