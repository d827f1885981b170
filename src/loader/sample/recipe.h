// What is done to every sample; the same for all threads of a loader.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "augment/cpu/plan_runner.h"
#include "augment/transforms.h"
#include "codec/decode/decode.h"
#include "data/source/source.h"
#include "loader/memory/budget.h"

namespace tundish {

class SampleCache;

// What a sample is counted against; see admission.h.
struct SampleMemory {
  MemoryBudget* budget = nullptr;     // null: nothing is counted
  std::uint64_t places = 0;           // of all batches that exist at once
  std::uint64_t uncharged_limit = 0;  // a sample that needs no more is not charged
  std::uint64_t besides_pixels = 0;   // of a place in a batch that has memory of its own
};

// A view: what is done to the image of every sample. Most loaders have one.
struct ViewRecipe {
  Transforms transforms;
  Dtype dtype = Dtype::uint8;   // of the batch's elements
  Dtype stored = Dtype::uint8;  // of what its memory holds: levels, when a GPU makes the elements
  PixelTable table;             // of what is stored; levels, when images are mixed afterwards
  std::uint32_t crops = 1;      // images that it gives: FiveCrop and TenCrop give several
  // Of samples without an image: the field of arrays whose elements are copied; -1: an image.
  int array_field = -1;
  std::size_t array_bytes = 0;  // of a sample
};

// What stands for the size of an image where there is none.
inline constexpr Size kArraySize = {1, 1};

struct Recipe {
  std::shared_ptr<const Source> source;  // second owner: whoever opened it
  int image_field = 0;                   // -1: samples are arrays (loader/sample/arrays.h)
  FieldSet fields = 0;                   // besides the image
  std::uint32_t label_width = 0;  // numbers of a label that is a vector; 0: labels are integers
  int label_field = -1;           // where a sample has its vector; -1: the options have it
  std::uint64_t seed = 0;
  std::vector<ViewRecipe> views;  // at least one
  CpuPart cpu_part = CpuPart::all;
  ImageMode mode = ImageMode::rgb;
  bool exif_orientation = false;  // turn images as their EXIF says; torchvision does not
  Limits limits;
  SampleMemory memory;
  SampleCache* cache = nullptr;  // null: every sample is read

  // Of an image in the batch's memory; a GPU gets all three.
  int stored_channels(const ViewRecipe& view) const {
    if (cpu_part == CpuPart::to_gpu) return 3;
    return has_16_bits(view) ? 2 : channels_of(mode);  // of a byte each
  }
  // Whether elements of a view are 16-bit levels.
  bool has_16_bits(const ViewRecipe& view) const {
    return mode == ImageMode::i16 && view.dtype == Dtype::uint8;
  }

  // Of a sample without an image, in a batch.
  std::uint64_t array_bytes() const {
    std::uint64_t sum = 0;
    for (const ViewRecipe& view : views) sum += view.array_bytes;
    return sum;
  }

  // The images of a sample are numbered: those of the first view, then those of the next.
  std::size_t images() const {
    std::size_t count = 0;
    for (const ViewRecipe& view : views) count += view.crops;
    return count;
  }
};

}  // namespace tundish
