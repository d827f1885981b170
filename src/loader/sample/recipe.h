// Describes how every sample is loaded and transformed; shared by all threads of a loader.
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

// Memory accounting for samples; see admission.h.
struct SampleMemory {
  MemoryBudget* budget = nullptr;     // null disables accounting
  std::uint64_t places = 0;           // places of all batches that exist at once
  std::uint64_t uncharged_limit = 0;  // samples that need at most this many bytes are not charged
  std::uint64_t besides_pixels = 0;   // bytes per place beyond its pixels
};

// A view: one list of transforms applied to every sample. Most loaders have one view.
struct ViewRecipe {
  Transforms transforms;
  Dtype dtype = Dtype::uint8;   // type of the batch's elements
  Dtype stored = Dtype::uint8;  // type in host memory; uint8 levels if a GPU makes the elements
  PixelTable table;             // maps to `stored`; maps to levels if images are mixed afterwards
  std::uint32_t crops = 1;      // images per sample; several with FiveCrop and TenCrop
  // Samples without an image: the array field whose elements are copied; -1: an image.
  int array_field = -1;
  std::size_t array_bytes = 0;  // bytes per sample
};

// Size used in place of an image size for arrays.
inline constexpr Size kArraySize = {1, 1};

struct Recipe {
  std::shared_ptr<const Source> source;  // shared with the code that opened the source
  int image_field = 0;                   // -1: samples are arrays (loader/sample/arrays.h)
  FieldSet fields = 0;                   // other fields to load
  std::uint32_t label_width = 0;         // length of a label vector; 0: labels are integers
  int label_field = -1;                  // field of the label vector; -1: taken from the options
  std::uint64_t seed = 0;
  std::vector<ViewRecipe> views;  // at least one
  CpuPart cpu_part = CpuPart::all;
  ImageMode mode = ImageMode::rgb;
  bool exif_orientation = false;  // apply the EXIF orientation; torchvision does not
  Limits limits;
  SampleMemory memory;
  SampleCache* cache = nullptr;  // null: every sample is read

  // Channels of an image in the batch's memory; a GPU always gets three.
  int stored_channels(const ViewRecipe& view) const {
    if (cpu_part == CpuPart::to_gpu) return 3;
    return has_16_bits(view) ? 2 : channels_of(mode);  // channels of one byte
  }
  // Whether elements of a view are 16-bit levels.
  bool has_16_bits(const ViewRecipe& view) const {
    return mode == ImageMode::i16 && view.dtype == Dtype::uint8;
  }

  // Bytes of a sample without an image in a batch.
  std::uint64_t array_bytes() const {
    std::uint64_t sum = 0;
    for (const ViewRecipe& view : views) sum += view.array_bytes;
    return sum;
  }

  // Number of images per sample. Images are numbered in the order of the views.
  std::size_t images() const {
    std::size_t count = 0;
    for (const ViewRecipe& view : views) count += view.crops;
    return count;
  }
};

}  // namespace tundish
