// Decodes planned batches on a GPU: coded bytes in, a finished batch out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "augment/pixel_table.h"
#include "codec/lanes/tables.h"
#include "cuda/decode/batch_layout.h"
#include "cuda/decode/kernels.h"
#include "cuda/runtime/runtime.h"

namespace tundish::cuda {

// Device memory for one batch at a time, reused from batch to batch. Two decoders on two streams
// let one batch's copy overlap another batch's kernels. Not thread-safe; only growing memory waits
// for the device.
class BatchDecoder {
 public:
  // Uses the current device.
  BatchDecoder(const lanes::Tables& tables, const PixelTable& table);

  // Reserves memory for batches up to this layout, so that decode() need not allocate.
  void reserve(const BatchLayout& layout);

  // `batch` is the output of BatchPlan::gather(): page-locked, and unchanged until the stream has
  // completed the copy. `out` is device memory.
  void decode(void* out, const std::byte* batch, const BatchLayout& layout, cudaStream_t stream);

  // Like decode(), for a flat buffer that is already on the device. With `levels` the elements are
  // 8-bit levels, regardless of the table.
  void decode_on_gpu(void* out, const std::byte* batch, const BatchLayout& layout,
                     cudaStream_t stream, bool levels = false);

  // After decode(): the device copy of the words that copy_errors() copies.
  const std::uint32_t* errors() const { return errors_.as<std::uint32_t>(); }

  // After decode(), on the same stream: copies a word per image, kNoError or error_word() of the
  // first refused unit. An image with an error is all zeros.
  void copy_errors(std::uint32_t* to, const BatchLayout& layout, cudaStream_t stream) const;

  // For timing single kernels.
  BatchMemory memory_of(const std::byte* batch) const;
  const DeviceShape& shape() const { return shape_; }
  const DecodeTables* tables() const { return tables_.as<DecodeTables>(); }
  const PixelValues& values() const { return values_; }

 private:
  DeviceShape shape_;
  PixelValues values_;
  DeviceMemory tables_, pixel_table_, batch_, planes_, weights_, errors_, next_unit_, space_;
};

}  // namespace tundish::cuda
