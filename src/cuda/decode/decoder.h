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

// Device memory for one batch at a time, kept from batch to batch. Two of them on two streams let
// one batch's copy run beside another's kernels. One thread at a time; only growing waits for the
// device.
class BatchDecoder {
 public:
  // On the current device.
  BatchDecoder(const lanes::Tables& tables, const PixelTable& table);

  // Takes the memory for batches up to this layout, so that decode() need not.
  void reserve(const BatchLayout& layout);

  // `batch` is what BatchPlan::gather() wrote, page-locked and untouched until the stream has
  // completed the copy; `out` is device memory.
  void decode(void* out, const std::byte* batch, const BatchLayout& layout, cudaStream_t stream);

  // The same of a flat buffer that is on the device already. With `levels` the elements are 8-bit
  // levels, whatever the table says.
  void decode_on_gpu(void* out, const std::byte* batch, const BatchLayout& layout,
                     cudaStream_t stream, bool levels = false);

  // After decode(): what copy_errors() copies, on the device.
  const std::uint32_t* errors() const { return errors_.as<std::uint32_t>(); }

  // After decode(), on the same stream: a word per image, kNoError or error_word() of the first
  // unit that was refused. Such an image is all zeros.
  void copy_errors(std::uint32_t* to, const BatchLayout& layout, cudaStream_t stream) const;

  // For measuring one kernel at a time.
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
