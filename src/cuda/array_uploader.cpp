#include "cuda/array_uploader.h"

#include <cstring>
#include <deque>
#include <vector>

#include "base/host_memory.h"
#include "cuda/runtime/on_device.h"
#include "cuda/runtime/pinned.h"
#include "cuda/runtime/runtime.h"

namespace tundish::cuda {

// A batch that was enqueued.
struct ArrayUploader::Sent {
  cudaEvent_t done = nullptr;
  std::shared_ptr<const void> keep;
  HostMemory numbers;

  Sent() { check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "make an event"); }
  Sent(const Sent&) = delete;
  Sent& operator=(const Sent&) = delete;
  ~Sent() { cudaEventDestroy(done); }
};

struct ArrayUploader::State {
  int device = 0;
  cudaStream_t stream = nullptr;
  std::deque<std::unique_ptr<Sent>> sent;     // in order; not yet known to be complete
  std::vector<std::unique_ptr<Sent>> unused;  // their events and memory are reused

  void copy_up(const ArrayCopy& copy) const {
    if (!copy.to || copy.bytes == 0) return;
    check(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyHostToDevice, stream),
          "copy a batch");
  }

  void copy_numbers(std::span<const ArrayCopy> numbers, Sent& one) const {
    std::size_t bytes = 0;
    for (const ArrayCopy& copy : numbers) bytes += copy.bytes;
    one.numbers.reserve(bytes, kPinnedMemory);
    std::byte* at = one.numbers.data();
    for (const ArrayCopy& copy : numbers) {
      if (copy.bytes == 0) continue;
      std::memcpy(at, copy.from, copy.bytes);
      copy_up({at, copy.to, copy.bytes});
      at += copy.bytes;
    }
  }
};

ArrayUploader::ArrayUploader(int device, void* stream) : state_(std::make_unique<State>()) {
  state_->device = device;
  state_->stream = static_cast<cudaStream_t>(stream);
  const OnDevice on(device);
  state_->unused.push_back(std::make_unique<Sent>());  // throws if there is no GPU
}

ArrayUploader::~ArrayUploader() {
  const OnDevice on(state_->device);
  cudaStreamSynchronize(state_->stream);
  state_.reset();
}

std::unique_ptr<ArrayUploader::Sent> ArrayUploader::new_sent() {
  if (state_->unused.empty()) return std::make_unique<Sent>();
  auto out = std::move(state_->unused.back());
  state_->unused.pop_back();
  return out;
}

void ArrayUploader::enqueue(const std::shared_ptr<const void>& keep,
                            std::span<const ArrayCopy> arrays, std::span<const ArrayCopy> numbers) {
  State& state = *state_;
  const OnDevice on(state.device);
  std::unique_ptr<Sent> one = new_sent();
  one->keep = keep;
  try {
    for (const ArrayCopy& copy : arrays) state.copy_up(copy);
    state.copy_numbers(numbers, *one);
    check(cudaEventRecord(one->done, state.stream), "record an event");
  } catch (...) {
    // Some copies may be on the stream, and the caller releases the batch's memory now.
    cudaStreamSynchronize(state.stream);
    throw;
  }
  state.sent.push_back(std::move(one));
}

void ArrayUploader::poll_completed() {
  State& state = *state_;
  const OnDevice on(state.device);
  while (!state.sent.empty()) {
    const cudaError_t status = cudaEventQuery(state.sent.front()->done);
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();  // "not ready" is not an error; clears the error state
      return;
    }
    check(status, "copy a batch");
    state.sent.front()->keep.reset();
    state.unused.push_back(std::move(state.sent.front()));
    state.sent.pop_front();
  }
}

}  // namespace tundish::cuda
