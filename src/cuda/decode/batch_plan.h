// The host side of decoding on a GPU: the units that the crops of a batch need, how the kernels
// process them, and the memory layout. Plain C++ that runs and is tested without a GPU.
//
//   plan.begin(limits);
//   for each image: plan.add(record, view, place)     // gpu, cpu or full
//   plan.finish();
//   plan.gather(to);                                  // layout().host_bytes(), copied at once
//
// gather_coded(to) in between lets the caller reuse a record's memory immediately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "augment/plan.h"
#include "base/bytes.h"
#include "base/error.h"
#include "codec/lanes/crop_plan.h"
#include "codec/lanes/record.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// Size limits of a batch; images that would exceed them are not added (full).
struct BatchLimits {
  std::uint64_t buffer_bytes = std::uint64_t{1} << 30;  // flat buffer
  std::uint64_t host_bytes = std::uint64_t{1} << 30;    // host part of the flat buffer
  std::uint64_t plane_bytes = std::uint64_t{4} << 30;   // on the device
  std::uint64_t weight_words = std::uint64_t{1} << 28;  // on the device
  std::uint32_t images = 65535;
};

// Destination of an image: element (y, x, channel) is number first + y*dy + x*dx + c*dc in a batch.
struct ElementPlace {
  std::uint64_t first = 0;
  std::int32_t dy = 0, dx = 0, dc = 0;
};

// The processor that makes the image.
enum class MadeBy : std::uint8_t {
  gpu,   // in the plan
  cpu,   // unsupported by the kernels: a second resize, or one by a factor of hundreds
  full,  // the batch has no room left; an empty batch may have
};

struct Added {
  MadeBy made_by = MadeBy::gpu;
  std::optional<Fault> fault{};  // set if the record is damaged; the image is then in no plan
};

// Reuses its memory from batch to batch. Not thread-safe. Records must stay valid until gathered.
class BatchPlan {
 public:
  // `resident`: the records' units are on the GPU; gather() writes Pieces instead of units.
  void begin(const BatchLimits& limits = {}, bool resident = false);

  // Adds an image. `record` is a lanes record; the plan covers the first step of `view`. `check`
  // also verifies the checksums of the needed rows of units; the head's is always verified.
  Added add(Bytes record, const View& view, const ElementPlace& place, bool check = false);

  // Like add(), for a record at byte `at` of the resident records on the GPU. Reads only the
  // head of `record`.
  Added add_resident(Bytes record, std::uint64_t at, const View& view, const ElementPlace& place);

  // Moves the added image number `image` to another destination.
  void move(std::size_t image, const ElementPlace& place);

  // Writes the units of the images added since the last call.
  void gather_coded(std::byte* to);

  // Sorts the units, longest first, so that no long unit starts last.
  void finish();

  const BatchLayout& layout() const { return layout_; }

  // Writes the host's part of the flat buffer, except what gather_coded() has already written.
  void gather(std::byte* to);

  // Bytes of coded units in gather()'s output.
  std::uint64_t coded_bytes() const { return coded_bytes_; }

  const std::vector<UnitTask>& units() const { return units_; }
  const std::vector<ImageTask>& images() const { return images_; }
  const std::vector<Item>& items() const { return items_; }

  // Sizes of all lists; take_back() drops entries added since that are not gathered yet.
  struct Extent {
    std::size_t units, images, items, pieces;
    std::uint64_t coded_bytes, coded_end, plane_bytes, weight_words;
  };
  Extent extent() const;
  void take_back(const Extent& before);

 private:
  Added add_from(std::uint64_t from, Bytes record, const View& view, const ElementPlace& place,
                 bool check);
  // Add the planes and units of the image under construction, the last of images_.
  std::optional<Fault> add_window(const Window& needed, std::uint64_t from, bool check);
  std::optional<Fault> add_units(const lanes::CropPlan& crop, std::uint64_t from);
  void add_planes(ImageTask& task, const lanes::CropPlan& crop);

  bool is_within_limits() const;

  BatchLimits limits_;
  BatchLayout layout_ = {};
  lanes::Record record_;
  std::vector<UnitTask> units_, sorted_;
  std::vector<ImageTask> images_;
  std::vector<Item> items_;
  std::vector<Piece> pieces_;  // `from` is an address, unless resident
  std::size_t gathered_ = 0;   // number of gathered pieces
  bool resident_ = false;
  std::uint64_t coded_bytes_ = 0, coded_end_ = 0, plane_bytes_ = 0, weight_words_ = 0;
};

}  // namespace tundish::cuda
