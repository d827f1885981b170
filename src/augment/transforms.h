// The transforms of a loader, in the user's order, and how they become a plan and a table.
//
// A transform is a struct in a file pair of operations/. It has a name, a description of its fields
// (core/fields.h) and some of these:
//   check()                 throws Error(argument) when its fields contradict each other
//   plan(view, random)      adds what it does to the plan; draws every number that it needs
//   makes_pixels()          true: it resizes or pads, and so works on 8-bit levels only
//   result_size(size)       of an image of this size; {0, 0} when it depends on the image
//   apply(pixel_values)     changes single values, as Normalize does
//   result_dtype(dtype)     of elements of this type
// HACKING.md explains, step by step, how a transform is added.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "augment/operations/center_crop.h"
#include "augment/operations/normalize.h"
#include "augment/operations/pad.h"
#include "augment/operations/random_crop.h"
#include "augment/operations/random_horizontal_flip.h"
#include "augment/operations/random_resized_crop.h"
#include "augment/operations/random_vertical_flip.h"
#include "augment/operations/resize.h"
#include "augment/operations/to_dtype.h"
#include "augment/plan.h"
#include "core/random.h"

namespace tundish {

using Transform = std::variant<  //
    RandomResizedCrop,           //
    Resize,                      //
    CenterCrop,                  //
    Pad,                         //
    RandomCrop,                  //
    RandomHorizontalFlip,        //
    RandomVerticalFlip,          //
    Normalize,                   //
    ToDtype>;
using Transforms = std::vector<Transform>;

// Throws Error(argument) naming the transform when an argument makes no sense: a size of zero,
// scale[0] > scale[1], std of 0, probability outside 0..1. Also when a transform that may make
// new pixels (anything that resizes or pads) follows ToDtype or Normalize: it works on 8-bit
// levels, and torchvision would give other values. Flips and unpadded crops may follow.
void check_transforms(const Transforms& transforms);

// Which numbers a transform draws: its stream is keyed by its name and its number among those of
// the same name, so that inserting another transform changes no draw. A saved state names this.
constexpr int kRandomVersion = 2;  // 1: keyed by the place in the list

// The plan of one view. Pure: the same image size, transforms and key give the same plan.
// Throws Error(argument) when an image cannot be treated: smaller than a RandomCrop, or a result
// of more than kMaxResultPixels.
constexpr std::int64_t kMaxResultPixels = 178'956'970;
View plan_view(const Transforms& transforms, Size image, const Key& key);

// The size every result has, or {0, 0} when it depends on the image.
Size fixed_size(const Transforms& transforms);

// Element type of the batch and the value of every (channel, level): ToDtype and Normalize in
// the user's order, each step rounded to float32 as torchvision does. float16 and bfloat16 are
// rounded to once, at the end, wherever in the list they are.
// Without either, uint8. Normalize on uint8 first scales to 0..1 and gives float32.
PixelTable pixel_table(const Transforms& transforms);

}  // namespace tundish
