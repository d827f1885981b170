// Marks on a stream of a GPU: when the GPU came past them. Nobody waits for it.
#pragma once

#include <cstddef>
#include <memory>

namespace tundish::cuda {

class StreamClock {
 public:
  virtual ~StreamClock() = default;

  // Behind all that the stream has been given so far. The first mark is 0, the next 1.
  virtual std::size_t mark(void* stream) = 0;
  virtual bool passed(std::size_t mark) = 0;
  virtual double ms_between(std::size_t from, std::size_t to) = 0;  // both passed
};

// For streams of this device. Throws Error(gpu), as do its methods.
std::unique_ptr<StreamClock> new_stream_clock(int device);

}  // namespace tundish::cuda
