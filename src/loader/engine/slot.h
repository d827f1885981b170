// A batch under construction: its places, and the memory of its images.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "augment/gpu_work.h"
#include "augment/mix.h"
#include "base/host_memory.h"
#include "base/image.h"
#include "data/order/order.h"
#include "loader/monitor/bad_sample.h"

namespace tundish {

// One sample of a batch, with all its images. Written by the worker that claimed it, read after
// the batch was taken.
struct Place {
  std::uint64_t position = 0;  // position in the epoch
  Draw draw;
  std::int64_t label = -1;
  std::vector<float> label_vector;             // replaces `label` if labels are vectors
  Size size;                                   // size of the first image
  Size unpadded;                               // `size` without the padding of PadTo
  bool filled = false;                         // the pixels are written
  std::vector<std::vector<std::byte>> fields;  // other fields, by field number
  std::vector<BadSample> bad;                  // samples that were tried and failed, in order
  std::exception_ptr error;                    // fails the batch
  bool coded = false;                          // a GPU decodes the pixels
  bool has_own_buffer = false;                 // in SlotView::own_buffers, not in a row
  std::vector<GpuWork> gpu_work;               // work left for a GPU, per image

  // Row of the pixels in each view (batch_rows.h); guarded by the slot's mutex until all places
  // are done.
  std::size_t row = 0;
  bool has_row = false;
  bool empty = false;  // will have no pixels
};

// Other data that a maker keeps in a slot across batches: gpu_maker.h.
struct MakerData {
  virtual ~MakerData() = default;
};

// The images of one view of a batch, with one row per place.
struct SlotView {
  Size size;  // size of every image; {0, 0} until the first is planned
  HostMemory pixels;
  HostMemory levels;                   // inputs of mixing on the CPU, by place
  std::deque<HostMemory> own_buffers;  // images of a list, or outside the batch: one per place
};

inline constexpr std::size_t kNoPlace = ~std::size_t{0};

// Mixing of the image of a place (mixer.h).
struct PlaceMix {
  Mix mix;
  std::size_t partner = 0;  // a place; equal to its own: no partner
  int waits = 0;            // images not done yet; guarded by the slot's mutex
};

struct Slot {
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;  // position of place 0
  std::uint64_t start = 0;  // global position (of all ranks) at which its step starts
  std::uint64_t next = 0;   // global position after its step
  std::vector<Place> places;
  std::size_t foreign_partners = 0;    // last places, with partners of other ranks
  std::vector<PlaceMix> mixes;         // one per own place; empty: no mixing
  std::vector<std::size_t> needed_by;  // for each place: place whose partner it is, or kNoPlace
  bool single_task = false;            // one worker fills all places: gpu_maker.h

  std::mutex mutex;            // guards the rows of places, and the views until they are set
  std::deque<SlotView> views;  // addresses are stable
  std::unique_ptr<MakerData> maker_data;

  std::size_t own() const { return places.size() - foreign_partners; }
  std::span<const Place> own_places() const { return {places.data(), own()}; }
};

}  // namespace tundish
