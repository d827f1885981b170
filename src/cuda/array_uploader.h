// Uploads batches of arrays from page-locked memory to tensors on a GPU: copies, no kernels. As
// GpuUploader otherwise; on one stream, since nothing is computed between two copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tundish::cuda {

// Bytes that are copied as they are.
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

  // Enqueues the copies. `arrays`: of memory that `keep` owns until it was copied. `numbers`
  // (labels and sample numbers) are copied to memory of the uploader before it returns.
  void enqueue(const std::shared_ptr<const void>& keep, std::span<const ArrayCopy> arrays,
               std::span<const ArrayCopy> numbers);

  // Gives back batches that were copied since. Cheap.
  void poll_completed();

 private:
  struct State;
  struct Sent;
  std::unique_ptr<Sent> new_sent();

  std::unique_ptr<State> state_;
};

}  // namespace tundish::cuda
