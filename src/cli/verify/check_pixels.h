// Decodes every image of a pack with many threads.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/shell.h"
#include "data/pack/reader.h"

namespace tundish::cli {

struct PixelCheck {
  std::uint64_t decoded = 0;
  std::uint64_t not_decodable = 0;  // stored unchanged, without a decoder
  std::vector<Error> damage;        // in record order
};

// Skips records that fail their checksum, which Pack::verify() reports. Draws progress.
// Throws Error if the machine fails, and Error(interrupted).
PixelCheck check_pixels(const Pack& pack, std::uint64_t threads, const Shell& shell);

}  // namespace tundish::cli
