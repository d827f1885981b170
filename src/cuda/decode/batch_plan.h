// The host's part of decoding on a GPU: which units the crops of a batch need, what the kernels
// make of these units, and where everything is. Plain C++: it runs and is tested without a GPU.
//
//   plan.begin(limits);
//   for each image: plan.add(record, view, place)     // gpu, cpu or full
//   plan.finish();
//   plan.gather(to);                                  // layout().host_bytes(), copied at once
//
// gather_coded(to) in between lets a record's memory be used again at once.
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

// How much a batch may take; images beyond that are not added (full).
struct BatchLimits {
  std::uint64_t buffer_bytes = std::uint64_t{1} << 30;  // of the flat buffer
  std::uint64_t host_bytes = std::uint64_t{1} << 30;    // of its part that the host has
  std::uint64_t plane_bytes = std::uint64_t{4} << 30;   // on the device
  std::uint64_t weight_words = std::uint64_t{1} << 28;  // on the device
  std::uint32_t images = 65535;
};

// Where an image goes: element (y, x, channel) is number first + y*dy + x*dx + c*dc of the batch.
struct ElementPlace {
  std::uint64_t first = 0;
  std::int32_t dy = 0, dx = 0, dc = 0;
};

// Who makes the image.
enum class MadeBy : std::uint8_t {
  gpu,   // it is in the plan
  cpu,   // no kernel does this: another resize after the first, or one by a factor of hundreds
  full,  // the batch has no room left; it may have in an empty one
};

struct Added {
  MadeBy made_by = MadeBy::gpu;
  std::optional<Fault> fault{};  // the record is damaged: the image is in no plan
};

// Keeps its memory from batch to batch. One thread. The records must live until they are gathered.
class BatchPlan {
 public:
  // `resident`: the records' units are on the GPU; gather() writes Pieces and leaves those out.
  void begin(const BatchLimits& limits = {}, bool resident = false);

  // `record` is a lanes record, `view` a view of its image: the plan is that of its first step.
  // With `check`, the checksums of the rows of units that are needed; the head's is always checked.
  Added add(Bytes record, const View& view, const ElementPlace& place, bool check = false);

  // The same for a record that begins `at` bytes into the resident records on the GPU: only the
  // head of `record` is read.
  Added add_resident(Bytes record, std::uint64_t at, const View& view, const ElementPlace& place);

  // Image number `image` of those that were added goes there instead.
  void move(std::size_t image, const ElementPlace& place);

  // Writes the units of the images added since the last time.
  void gather_coded(std::byte* to);

  // Puts the units in order, longest first, so that no long one starts last.
  void finish();

  const BatchLayout& layout() const { return layout_; }

  // Writes the host's part of the flat buffer, but for what gather_coded() has written.
  void gather(std::byte* to);

  // The bytes of gather() that are coded units.
  std::uint64_t coded_bytes() const { return coded_bytes_; }

  const std::vector<UnitTask>& units() const { return units_; }
  const std::vector<ImageTask>& images() const { return images_; }
  const std::vector<Item>& items() const { return items_; }

  // How much of everything there is; take_back() drops what was added since, and not gathered yet.
  struct Extent {
    std::size_t units, images, items, pieces;
    std::uint64_t coded_bytes, coded_end, plane_bytes, weight_words;
  };
  Extent extent() const;
  void take_back(const Extent& before);

 private:
  Added add_from(std::uint64_t from, Bytes record, const View& view, const ElementPlace& place,
                 bool check);
  // The planes and units of the image under construction, the last of images_.
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
  std::vector<Piece> pieces_;  // `from` is an address unless they are resident
  std::size_t gathered_ = 0;   // of the pieces
  bool resident_ = false;
  std::uint64_t coded_bytes_ = 0, coded_end_ = 0, plane_bytes_ = 0, weight_words_ = 0;
};

}  // namespace tundish::cuda
