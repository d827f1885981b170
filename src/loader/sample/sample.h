// Loads one image: reads, plans, decodes, and runs the plan.
#pragma once

#include <cstdint>
#include <functional>

#include "augment/cpu/store.h"
#include "data/order/order.h"
#include "loader/sample/recipe.h"
#include "loader/sample/scratch.h"

namespace tundish {

// Throws SampleError if an array field cannot be loaded.
void check_array_fields(const Recipe& recipe, std::uint64_t number, const Sample& sample);

// Plans each image of a draw whose image has this header.
// Throws Error with the draw's name if the transforms cannot process it.
std::vector<View> plan_draw(const Recipe& recipe, const ImageHeader& header, std::uint64_t epoch,
                            const Draw& draw);

// A sample that was read, and its plans.
struct Planned {
  Bytes bytes;  // bytes of the image, in the scratch
  ImageHeader header;
  std::uint8_t orientation;
  std::vector<View> views;  // one per image of the sample
};

// Reads and plans one draw. Throws SampleError; Error if the transforms cannot process it.
Planned read_and_plan(const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                      Scratch& scratch);

// Returns the destination of image number `image` of the sample, which has this size. A null base
// omits the image.
using Placer = std::function<Placement(std::size_t image, Size size)>;

// Loads one draw. Afterwards scratch.sample holds the requested fields, and scratch.left the work
// left for a GPU on each image. Throws SampleError.
void load_sample(const Placer& placer, const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                 Scratch& scratch);

}  // namespace tundish
