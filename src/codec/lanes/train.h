// Computes the tables that suit a dataset, and finds the set of tables that suits an image.
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
  double file_bits = 0;  // bits of the JPEG for the sampled share of the image; 0: unknown
};

// Samples at most `most` units, evenly spaced in the image. `scratch` is working memory.
void take_sample(ImageSample& out, const Coefficients& image, int most, UnitSymbols& scratch);

// Fits tables to the samples, which may be empty; a pure function. Sorts images into kSets kinds,
// each with the tables that code it in the fewest bits; images that would grow have a higher
// weight. Every table can code any data; unseen symbols cost more.
void fit_tables(Tables& out, std::span<const ImageSample> images);

// Returns the set that codes the image in the fewest bits, judged by some of its units.
int choose_set(const Coefficients& image, const Tables& tables, UnitSymbols& scratch);

}  // namespace tundish::lanes
