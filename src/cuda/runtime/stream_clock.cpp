#include "cuda/runtime/stream_clock.h"

#include <vector>

#include "cuda/runtime/on_device.h"
#include "cuda/runtime/runtime.h"

namespace tundish::cuda {
namespace {

class Events : public StreamClock {
 public:
  explicit Events(int device) : device_(device) {}
  ~Events() override {
    const OnDevice on(device_);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  std::size_t mark(void* stream) override {
    const OnDevice on(device_);
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), "make an event");
    events_.push_back(event);
    check(cudaEventRecord(event, static_cast<cudaStream_t>(stream)), "record an event");
    return events_.size() - 1;
  }

  bool passed(std::size_t mark) override {
    const OnDevice on(device_);
    const cudaError_t status = cudaEventQuery(events_[mark]);
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();  // "not ready" is not an error; clears the error state
      return false;
    }
    check(status, "query an event");
    return true;
  }

  double ms_between(std::size_t from, std::size_t to) override {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, events_[from], events_[to]), "time a batch");
    return ms;
  }

 private:
  const int device_;
  std::vector<cudaEvent_t> events_;
};

}  // namespace

std::unique_ptr<StreamClock> new_stream_clock(int device) {
  return std::make_unique<Events>(device);
}

}  // namespace tundish::cuda
