// Samples as the network sees them: the original, and several draws of the transforms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "augment/transforms.h"
#include "data/source/source.h"

namespace tundish::cli {

struct Picture {
  Size size;
  std::vector<std::uint8_t> rgb;  // rows without gaps
};

struct DrawnPicture {
  std::uint64_t epoch = 0;
  View view{Size{}};  // the executed plan
  Picture picture;
};

struct DrawnSample {
  std::uint64_t sample = 0;
  std::int64_t label = -1;
  std::string key;
  Size stored;       // size of the image; upright with exif_orientation
  Picture original;  // reduced to fit the sheet
  std::vector<DrawnPicture> draws;
};

struct DrawOptions {
  Transforms transforms;
  std::uint64_t seed = 0, epoch = 0;
  std::uint32_t view = 0;   // index of the loader's view
  std::uint64_t draws = 8;  // in epochs epoch, epoch + 1, ...; FiveCrop gives 5 per epoch
  bool exif_orientation = false;
  ImageMode mode = ImageMode::rgb;
};

constexpr int kMaxTileSide = 384;  // larger pictures are reduced

// Returns what a loader with this seed makes of the sample in these epochs, before ToDtype and
// Normalize and before images are mixed. Throws SampleError if the sample is bad, and Error if the
// transforms cannot process it.
DrawnSample draw_sample(const Source& source, std::uint64_t sample, const DrawOptions& options);

}  // namespace tundish::cli
