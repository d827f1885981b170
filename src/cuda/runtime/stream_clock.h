// Records marks on a GPU stream and measures the time between them, without waiting for the GPU.
#pragma once

#include <cstddef>
#include <memory>

namespace tundish::cuda {

class StreamClock {
 public:
  virtual ~StreamClock() = default;

  // Places a mark after all work enqueued so far. The first mark is 0, the next 1.
  virtual std::size_t mark(void* stream) = 0;
  virtual bool passed(std::size_t mark) = 0;
  virtual double ms_between(std::size_t from, std::size_t to) = 0;  // both must have passed
};

// Creates a clock for streams of this device. Throws Error(gpu), as do the clock's methods.
std::unique_ptr<StreamClock> new_stream_clock(int device);

}  // namespace tundish::cuda
