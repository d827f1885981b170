// A batch in the making: its places, and the memory that its images are made in.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "augment/left_to_gpu.h"
#include "core/host_memory.h"
#include "core/image.h"
#include "monitor/bad_sample.h"
#include "order/order.h"

namespace tundish {

// One sample of a batch. Written by the worker that claimed it, read after the batch was taken.
struct Place {
  Draw draw;
  std::int64_t label = -1;
  Size size;
  bool filled = false;                         // its pixels are written
  std::vector<std::vector<std::byte>> fields;  // besides the image, by field number
  std::vector<BadSample> bad;                  // samples that were tried and failed, in order
  std::exception_ptr error;                    // ends the batch
  bool coded = false;                          // a GPU makes its pixels
  LeftToGpu left;                              // what a GPU is still to do to its pixels

  // Where its pixels are, in images (batch_rows.h); guarded by the slot's mutex until all places
  // are done.
  std::size_t row = 0;
  bool has_row = false;
  bool empty = false;  // it will have no pixels
};

// What else a maker keeps in a slot from batch to batch: gpu_maker.h.
struct MakerData {
  virtual ~MakerData() = default;
};

struct Slot {
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;  // position of place 0
  std::uint64_t start = 0;  // global position (of all ranks) where its step begins
  std::uint64_t next = 0;   // global position after its step
  std::vector<Place> places;
  bool single_task = false;  // one worker fills all places: gpu_maker.h

  std::mutex mutex;  // guards the rows of places; size and pixels until they are set
  Size size;         // of every image of the batch; {0, 0} until the first one is planned
  HostMemory pixels;
  std::unique_ptr<MakerData> maker_data;
};

}  // namespace tundish
