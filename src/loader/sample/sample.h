// Loads one image: reads, plans, decodes, and runs the plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "augment/cpu/placement.h"
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
  std::uint8_t orientation = 1;
  std::vector<View> views;  // one per image of the sample; empty if the samples are arrays

  Size size(std::size_t image) const { return views.empty() ? kArraySize : views[image].size(); }
};

// Who decodes the images of a sample. The CPU needs memory for the decoded images.
enum class DecodedBy : std::uint8_t { cpu, gpu };

// Waits until there is memory for the sample, then reads and plans one draw. Afterwards
// scratch.sample holds the requested fields. Throws SampleError; Error if the transforms cannot
// process it.
Planned read_and_plan(const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                      DecodedBy decoded_by, Scratch& scratch);

// Decodes a planned sample and writes each of its images to its row. Omits the images whose row has
// a null base. Afterwards scratch.gpu_work has the work left for a GPU on each image. Throws
// SampleError.
void write_rows(std::span<const Placement> rows, const Planned& planned, const Recipe& recipe,
                const Draw& draw, Scratch& scratch);

}  // namespace tundish
