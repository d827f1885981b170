// The three kernels of a batch, in the order in which they run. Each launches once, on a stream,
// and never waits. Twin of all three together: batch_reference.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "augment/pixel_table.h"
#include "cuda/decode/batch_layout.h"
#include "cuda/decode/decode_tables.h"

namespace tundish::cuda {

// Inputs and outputs of the kernels; all in device memory.
struct BatchMemory {
  const std::byte* batch;    // the flat buffer
  std::uint8_t* planes;      // layout.plane_bytes
  std::uint32_t* weights;    // layout.weight_words
  std::uint32_t* errors;     // one per image, see kNoError
  std::uint32_t* next_unit;  // one word of work space
  std::byte* space;          // space_bytes()
};

// How the kernels are launched on a device.
struct DeviceShape {
  int multiprocessors = 0;
  int unit_warps = 0;  // per multiprocessor
};
DeviceShape device_shape(int device);
std::size_t space_bytes(const DeviceShape& shape);

// The values of a batch's elements: PixelTable on the device.
struct PixelValues {
  Dtype dtype = Dtype::uint8;
  bool formula = false;  // by arithmetic, which gives the same
  float factor, mean[3], std[3], inverse[3];
  const std::uint32_t* value = nullptr;  // [3][256]
};

// Weights of the resize, and which inputs they are for.
void make_weights(const BatchMemory& memory, const BatchLayout& layout, cudaStream_t stream);

// Coded units to the planes of the crops. Sets the errors.
void decode_units(const BatchMemory& memory, const BatchLayout& layout, const DecodeTables* tables,
                  const DeviceShape& shape, cudaStream_t stream);

// The same without the samples, for timing by difference; the errors are not cleared.
void decode_entropy(const BatchMemory& memory, const BatchLayout& layout,
                    const DecodeTables* tables, const DeviceShape& shape, cudaStream_t stream);

// Planes to the finished batch; an image with an error becomes zeros.
void make_output(void* out, const BatchMemory& memory, const BatchLayout& layout,
                 const PixelValues& values, cudaStream_t stream);

}  // namespace tundish::cuda
