// Decodes every image of a pack, with many threads.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/shell.h"
#include "data/pack/reader.h"

namespace tundish::cli {

struct PixelCheck {
  std::uint64_t decoded = 0;
  std::uint64_t not_decodable = 0;  // packed as they came
  std::vector<Error> damage;        // in the order of the records
};

// Records that fail their checksum are skipped: Pack::verify() reports them. Draws progress.
// Throws Error when the machine fails, and Error(interrupted).
PixelCheck check_pixels(const Pack& pack, std::uint64_t threads, const Shell& shell);

}  // namespace tundish::cli
