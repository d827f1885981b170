// A batch in the making: its places, and the memory that its images are made in.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "augment/left_to_gpu.h"
#include "augment/mix.h"
#include "base/host_memory.h"
#include "base/image.h"
#include "data/order/order.h"
#include "loader/monitor/bad_sample.h"

namespace tundish {

// One sample of a batch, with all its images. Written by the worker that claimed it, read after the
// batch was taken.
struct Place {
  std::uint64_t position = 0;  // of the epoch
  Draw draw;
  std::int64_t label = -1;
  std::vector<float> label_vector;             // instead, where labels are vectors
  Size size;                                   // of its first image
  Size unpadded;                               // the same without the padding of PadTo
  bool filled = false;                         // its pixels are written
  std::vector<std::vector<std::byte>> fields;  // besides the image, by field number
  std::vector<BadSample> bad;                  // samples that were tried and failed, in order
  std::exception_ptr error;                    // ends the batch
  bool coded = false;                          // a GPU makes its pixels
  std::vector<LeftToGpu> left;                 // what a GPU is still to do to each of its images

  // Where its pixels are in each view (batch_rows.h); guarded by the slot's mutex until all places
  // are done.
  std::size_t row = 0;
  bool has_row = false;
  bool empty = false;  // it will have no pixels
};

// What else a maker keeps in a slot from batch to batch: gpu_maker.h.
struct MakerData {
  virtual ~MakerData() = default;
};

// The images of one view of a batch: rows, one for each place.
struct SlotView {
  Size size;  // of every image; {0, 0} until the first one is planned
  HostMemory pixels;
  HostMemory levels;  // where images are mixed on the CPU: what they are mixed of, by place
  std::deque<HostMemory> apart;  // of images that come as a list: one for each place
};

inline constexpr std::size_t kNoPlace = ~std::size_t{0};

// How the image of a place is mixed (mixer.h).
struct PlaceMix {
  Mix mix;
  std::size_t partner = 0;  // a place; its own: none
  int waits = 0;            // images that are not there yet; guarded by the slot's mutex
};

struct Slot {
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;  // position of place 0
  std::uint64_t start = 0;  // global position (of all ranks) where its step begins
  std::uint64_t next = 0;   // global position after its step
  std::vector<Place> places;
  std::size_t guests = 0;       // of the places, the last ones: partners that other ranks have
  std::vector<PlaceMix> mixes;  // of the other places; empty: nothing is mixed
  std::vector<std::size_t> needed_by;  // by place: whose partner it is, or kNoPlace
  bool single_task = false;            // one worker fills all places: gpu_maker.h

  std::mutex mutex;            // guards the rows of places, and the views until they are set
  std::deque<SlotView> views;  // stay where they are
  std::unique_ptr<MakerData> maker_data;

  std::size_t own() const { return places.size() - guests; }
  std::span<const Place> own_places() const { return {places.data(), own()}; }
};

}  // namespace tundish
