// The three kernels of a batch, in execution order. Each function launches one kernel on a stream
// and never waits. Reference implementation of all three together: batch_reference.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "augment/pixel_table.h"
#include "cuda/decode/batch_layout.h"
#include "cuda/decode/decode_tables.h"

namespace tundish::cuda {

// Inputs and outputs of the kernels, all in device memory.
struct BatchMemory {
  const std::byte* batch;    // the flat buffer
  std::uint8_t* planes;      // layout.plane_bytes
  std::uint32_t* weights;    // layout.weight_words
  std::uint32_t* errors;     // one per image, see kNoError
  std::uint32_t* next_unit;  // one word of work space
  std::byte* space;          // space_bytes()
};

// Launch parameters for a device.
struct DeviceShape {
  int multiprocessors = 0;
  int unit_warps = 0;  // per multiprocessor
};
DeviceShape device_shape(int device);
std::size_t space_bytes(const DeviceShape& shape);

// Values of a batch's elements: a PixelTable on the device.
struct PixelValues {
  Dtype dtype = Dtype::uint8;
  bool formula = false;  // computed by arithmetic, with the same results
  float factor, mean[3], std[3], inverse[3];
  const std::uint32_t* value = nullptr;  // [3][256]
};

// Computes the weights of the resizes and the first input of each weight group.
void make_weights(const BatchMemory& memory, const BatchLayout& layout, cudaStream_t stream);

// Decodes coded units into the planes of the crops. Sets the errors.
void decode_units(const BatchMemory& memory, const BatchLayout& layout, const DecodeTables* tables,
                  const DeviceShape& shape, cudaStream_t stream);

// Like decode_units() without the samples, for timing by difference; does not clear the errors.
void decode_entropy(const BatchMemory& memory, const BatchLayout& layout,
                    const DecodeTables* tables, const DeviceShape& shape, cudaStream_t stream);

// Converts planes to the finished batch; an image with an error becomes zeros.
void make_output(void* out, const BatchMemory& memory, const BatchLayout& layout,
                 const PixelValues& values, cudaStream_t stream);

}  // namespace tundish::cuda
