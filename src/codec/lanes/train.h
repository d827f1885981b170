// Makes the tables that suit a data set, and finds the set of tables that suits an image.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/lanes/symbols.h"
#include "codec/lanes/tables.h"

namespace tundish::lanes {

// Some units of one image, kept for training.
struct ImageSample {
  struct Unit {
    UnitShape shape;
    std::vector<BlockSymbols> blocks;
    std::vector<std::int16_t> values;
  };
  std::vector<Unit> units;
  double file_bits = 0;  // of the JPEG, for as much of the image; 0: not known
};

// At most `most` units that are evenly spaced in the image. `scratch` is memory to use.
void take_sample(ImageSample& out, const Coefficients& image, int most, UnitSymbols& scratch);

// A pure function of the samples, which may be none. Images are sorted into kSets kinds, and each
// gets the tables that code it in the fewest bits; images that would grow count for more. Every
// table codes any data: what was never seen costs more.
void fit_tables(Tables& out, std::span<const ImageSample> images);

// The set that codes the image in the fewest bits, judged by some of its units.
int choose_set(const Coefficients& image, const Tables& tables, UnitSymbols& scratch);

}  // namespace tundish::lanes
