// Uploads batches of arrays from page-locked memory to tensors on a GPU: copies, no kernels. Works
// like GpuUploader, but on one stream, since nothing is computed between two copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tundish::cuda {

// Bytes copied unchanged.
struct ArrayCopy {
  const void* from = nullptr;  // host memory
  void* to = nullptr;          // GPU memory; null: not wanted
  std::size_t bytes = 0;
};

class ArrayUploader {
 public:
  // `stream` is a cudaStream_t of that device, which must outlive the uploader. Throws Error(gpu).
  ArrayUploader(int device, void* stream);
  ~ArrayUploader();  // waits until the GPU has read every batch

  // Enqueues the copies. `keep` owns the memory of `arrays` until the copies are done. `numbers`
  // (labels and sample numbers) are copied to the uploader's memory before the call returns.
  void enqueue(const std::shared_ptr<const void>& keep, std::span<const ArrayCopy> arrays,
               std::span<const ArrayCopy> numbers);

  // Releases the batches whose copies are done. Cheap.
  void poll_completed();

 private:
  struct State;
  struct Sent;
  std::unique_ptr<Sent> new_sent();

  std::unique_ptr<State> state_;
};

}  // namespace tundish::cuda
