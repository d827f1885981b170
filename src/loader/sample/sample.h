// One image: read, plan, decode, run the plan.
#pragma once

#include <cstdint>
#include <functional>

#include "augment/cpu/store.h"
#include "data/order/order.h"
#include "loader/sample/recipe.h"
#include "loader/sample/scratch.h"

namespace tundish {

// Throws SampleError when an array field cannot be loaded.
void check_array_fields(const Recipe& recipe, std::uint64_t number, const Sample& sample);

// What will be done to a draw whose image has this header, for each image that is made of it.
// Throws Error that names it when the transforms cannot treat it.
std::vector<View> plan_draw(const Recipe& recipe, const ImageHeader& header, std::uint64_t epoch,
                            const Draw& draw);

// A sample that was read, and what will be done to it.
struct Planned {
  Bytes bytes;  // of the image, in the scratch
  ImageHeader header;
  std::uint8_t orientation;
  std::vector<View> views;  // one for each image that is made of it
};

// Reads and plans one draw. Throws SampleError; Error when the transforms cannot treat it.
Planned read_and_plan(const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                      Scratch& scratch);

// Where image number `image` of the sample goes, which has this size. Null base: nowhere, leave it
// out.
using Placer = std::function<Placement(std::size_t image, Size size)>;

// Loads one draw. Afterwards scratch.sample holds the fields asked for, and scratch.left what a GPU
// is still to do to each image. Throws SampleError.
void load_sample(const Placer& placer, const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                 Scratch& scratch);

}  // namespace tundish
