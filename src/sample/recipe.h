// What is done to every sample; the same for all threads of a loader.
#pragma once

#include <cstdint>
#include <memory>

#include "augment/transforms.h"
#include "decode/decode.h"
#include "memory/budget.h"
#include "source/source.h"

namespace tundish {

class SampleCache;

// What a sample is counted against; see admission.h.
struct SampleMemory {
  MemoryBudget* budget = nullptr;     // null: nothing is counted
  std::uint64_t places = 0;           // of all batches that exist at once
  std::uint64_t uncharged_limit = 0;  // a sample that needs no more is not charged
};

struct Recipe {
  std::shared_ptr<const Source> source;  // second owner: whoever opened it
  int image_field = 0;
  FieldSet fields = 0;  // besides the image
  std::uint64_t seed = 0;
  Transforms transforms;
  PixelTable table;
  bool levels = false;            // store 8-bit levels, and leave the end of a plan to a GPU
  bool exif_orientation = false;  // turn images as their EXIF says; torchvision does not
  Limits limits;
  SampleMemory memory;
  SampleCache* cache = nullptr;  // null: every sample is read
};

}  // namespace tundish
