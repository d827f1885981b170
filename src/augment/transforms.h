// The transforms of a loader, in the user's order, and how they become a plan and a table.
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

struct Transform;  // any of them: augment/transform.h

// A list that does not change; copies share it. Also what a transform has that holds others.
class Transforms {
 public:
  Transforms();
  Transforms(std::vector<Transform> list);
  Transforms(std::initializer_list<Transform> list);

  const std::vector<Transform>& list() const { return *list_; }
  bool operator==(const Transforms& other) const;

  // The list of one epoch: every Schedule replaced by the size that it has then. Cheap.
  Transforms at(std::uint64_t epoch) const;
  // The epochs that begin with another list than the epoch before: 0, and those of every Schedule.
  std::vector<std::uint64_t> changes() const;

 private:
  std::shared_ptr<const std::vector<Transform>> list_;  // other owners: copies
  bool scheduled_ = false;                              // a size changes with the epoch
};

// One list for each view of a sample.
using Views = std::vector<Transforms>;

// Throws Error(argument) naming the transform when an argument makes no sense: a size of zero,
// scale[0] > scale[1], std of 0, probability outside 0..1. Also when a transform that may make
// new pixels (anything that resizes or pads) follows ToDtype or Normalize: it works on 8-bit
// levels, and torchvision would give other values. Flips and unpadded crops may follow. And when it
// gives images of this mode other values than torchvision does.
void check_transforms(const Transforms& transforms, ImageMode mode = ImageMode::rgb);

// Which numbers a transform draws: its stream is keyed by its name and its number among those of
// the same name, so that inserting another transform changes no draw. A saved state names this.
constexpr int kRandomVersion = 2;  // 1: keyed by the place in the list

// The plan of one view, with the sizes of the key's epoch. Pure: the same image size, transforms
// and key give the same plan. Throws Error(argument) when an image cannot be treated: smaller than
// a RandomCrop, or a result of more than kMaxResultPixels.
constexpr std::int64_t kMaxResultPixels = 178'956'970;
View plan_view(const Transforms& transforms, Size image, const Key& key, std::uint32_t crop = 0,
               ImageMode mode = ImageMode::rgb, bool can_reduce = false);

// Whether the list begins with a Resize that has draft=True.
bool begins_with_draft(const Transforms& transforms);

// Images that the list makes of one: 5 with FiveCrop, 10 with TenCrop, otherwise 1. `crop` above is
// the number of one of them.
std::uint32_t crops_of(const Transforms& transforms);

// The size every result of an epoch has, or {0, 0} when it depends on the image.
Size fixed_size(const Transforms& transforms, std::uint64_t epoch);

// The greatest width and the greatest height that results have in any epoch; {0, 0} when in one of
// them the size depends on the image.
Size largest_size(const Transforms& transforms);

// Element type of the batch and the value of every (channel, level): ToDtype and Normalize in
// the user's order, each step rounded to float32 as torchvision does. float16 and bfloat16 are
// rounded to once, at the end, wherever in the list they are.
// Without either, uint8. Normalize on uint8 first scales to 0..1 and gives float32.
PixelTable pixel_table(const Transforms& transforms, ImageMode mode = ImageMode::rgb);

// The same values before they are rounded to the batch's type: always float32.
PixelTable float_table(const Transforms& transforms);

}  // namespace tundish
