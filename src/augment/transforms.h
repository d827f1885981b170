// The transforms of a loader, in the user's order, and their conversion to a plan and a table.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "augment/image_mode.h"
#include "augment/pixel_table.h"
#include "augment/plan.h"
#include "base/random.h"

namespace tundish {

struct Transform;  // variant of all transforms: augment/transform.h

// An immutable list; copies share it. Also used by transforms that contain other transforms.
class Transforms {
 public:
  Transforms();
  Transforms(std::vector<Transform> list);
  Transforms(std::initializer_list<Transform> list);

  const std::vector<Transform>& list() const { return *list_; }
  bool operator==(const Transforms& other) const;

  // Returns the list of one epoch, with every Schedule replaced by its size. Cheap.
  Transforms at(std::uint64_t epoch) const;
  // Returns the epochs whose list differs from the epoch before: 0, and the steps of each Schedule.
  std::vector<std::uint64_t> changes() const;

 private:
  std::shared_ptr<const std::vector<Transform>> list_;  // shared with copies
  bool scheduled_ = false;                              // a size changes with the epoch
};

// One list for each view of a sample.
using Views = std::vector<Transforms>;

// Throws Error(argument) with the name of the transform if an argument makes no sense: a size of
// zero, scale[0] > scale[1], std of 0, probability outside 0..1. Refuses a transform that may make
// new pixels (anything that resizes or pads) after ToDtype or Normalize, because it works on 8-bit
// levels and torchvision would give other values. Flips and unpadded crops may follow. Also refuses
// transforms that would give images of this mode other values than torchvision.
void check_transforms(const Transforms& transforms, ImageMode mode = ImageMode::rgb);

// Whether the list starts with a Resize that has draft=True.
bool begins_with_draft(const Transforms& transforms);

// Images that the list makes of one image: 5 with FiveCrop, 10 with TenCrop, otherwise 1. The
// argument `crop` of plan_view() is the number of such an image.
std::uint32_t crops_of(const Transforms& transforms);

// Returns the size of every result of an epoch, or {0, 0} if the size depends on the image.
Size fixed_size(const Transforms& transforms, std::uint64_t epoch);

// Returns the greatest width and the greatest height of results in any epoch; {0, 0} if the size
// depends on the image in some epoch.
Size largest_size(const Transforms& transforms);

// Returns the element type of the batch and the value of every (channel, level). Applies ToDtype
// and Normalize in the user's order, each rounded to float32 like torchvision. float16 and
// bfloat16 values are rounded once, at the end, wherever ToDtype is in the list.
// Without either transform: uint8. Normalize first scales uint8 to 0..1 and returns float32.
PixelTable pixel_table(const Transforms& transforms, ImageMode mode = ImageMode::rgb);

// Returns the values before rounding to the batch's type: always float32.
PixelTable float_table(const Transforms& transforms);

}  // namespace tundish
