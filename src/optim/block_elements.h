// Converts blocks of a chunk to fp32 in the L1 cache, whatever their types in memory. Included by
// one file per instruction set.
#pragma once

#include <cstddef>
#include <cstring>

#include "optim/chunk_loops.h"
#include "optim/element.h"

namespace tundish::optim {
namespace {

#define TUNDISH_INLINE inline __attribute__((always_inline))

constexpr std::size_t kBlock = 1024;  // elements; a multiple of the 16 lanes of a sum

TUNDISH_INLINE void* element_at(void* elements, ElementType type, std::uint64_t place) {
  const std::uint64_t bytes = type == ElementType::float32 ? 4 : 2;
  return static_cast<char*>(elements) + bytes * place;
}

// Returns the elements as floats, either in place or converted into `buffer`.
TUNDISH_INLINE float* as_floats(void* elements, ElementType type, std::size_t count,
                                float* __restrict buffer) {
  if (type == ElementType::float32) return static_cast<float*>(elements);
  const auto* __restrict from = static_cast<const std::uint16_t*>(elements);
  if (type == ElementType::bfloat16) {
    for (std::size_t i = 0; i < count; ++i) buffer[i] = from_bfloat16(from[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) buffer[i] = from_float16(from[i]);
  }
  return buffer;
}

TUNDISH_INLINE void store_rounded(void* elements, ElementType type, std::size_t count,
                                  const float* __restrict values) {
  auto* __restrict to = static_cast<std::uint16_t*>(elements);
  if (type == ElementType::float32) {
    std::memcpy(elements, values, 4 * count);
  } else if (type == ElementType::bfloat16) {
    for (std::size_t i = 0; i < count; ++i) to[i] = to_bfloat16(values[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = to_float16(values[i]);
  }
}

TUNDISH_INLINE void store_randomly(void* elements, ElementType type, std::size_t count,
                                   const float* __restrict values, std::uint64_t key,
                                   std::uint64_t first) {
  auto* __restrict to = static_cast<std::uint16_t*>(elements);
  std::uint32_t random[kBlock];
  for (std::size_t i = 0; i < count; ++i) random[i] = rounding_bits(key, first + i);
  if (type == ElementType::bfloat16) {
    for (std::size_t i = 0; i < count; ++i) to[i] = to_bfloat16_randomly(values[i], random[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = to_float16_randomly(values[i], random[i]);
  }
}

// One block of a tensor, with its weights and gradients as floats.
struct Block {
  std::uint64_t place;  // first element, counted from the start of the tensor
  std::size_t count;
  float* weights;
  const float* gradients;
};

TUNDISH_INLINE void store_weights(const ChunkTask& task, const Block& block) {
  const TensorEntry& tensor = *task.tensor;
  const bool rounded = tensor.parameter_type != ElementType::float32;
  void* parameter = element_at(tensor.parameter, tensor.parameter_type, block.place);
  if (rounded && !tensor.master && task.stochastic_rounding) {
    store_randomly(parameter, tensor.parameter_type, block.count, block.weights, task.rounding_key,
                   block.place);
  } else if (rounded || tensor.master) {
    store_rounded(parameter, tensor.parameter_type, block.count, block.weights);
  }
  if (tensor.copy) {
    store_rounded(element_at(tensor.copy, tensor.copy_type, block.place), tensor.copy_type,
                  block.count, block.weights);
  }
}

TUNDISH_INLINE void update_average(const ChunkTask& task, const Block& block) {
  if (!task.keep_average || !task.tensor->average) return;
  float* __restrict average = task.tensor->average + block.place;
  const float* __restrict weights = block.weights;
  const Lerp towards = task.average;
  for (std::size_t i = 0; i < block.count; ++i) average[i] = lerp(average[i], weights[i], towards);
}

TUNDISH_INLINE void clear_gradients(const ChunkTask& task, const Block& block) {
  const TensorEntry& tensor = *task.tensor;
  if (!task.clear_gradients || !tensor.gradient) return;
  const std::size_t bytes = tensor.gradient_type == ElementType::float32 ? 4 : 2;
  std::memset(element_at(tensor.gradient, tensor.gradient_type, block.place), 0,
              bytes * block.count);
}

// True if the update makes the only pass over memory. Such a chunk is a single block, because each
// loop end costs a mispredicted branch, and with the branch the loads issued ahead.
TUNDISH_INLINE bool is_plain(const ChunkTask& task) {
  const TensorEntry& tensor = *task.tensor;
  return tensor.parameter_type == ElementType::float32 &&
         tensor.gradient_type == ElementType::float32 && !tensor.master && !tensor.copy &&
         !task.keep_average && !task.clear_gradients;
}

// Calls body(block) for every block of the chunk, with its weights and, if the tensor has any, its
// gradients. A block has at most max(kBlock, most) elements.
template <class Body>
TUNDISH_INLINE void for_blocks(const ChunkTask& task, const Body& body, std::size_t most = kBlock) {
  const TensorEntry& tensor = *task.tensor;
  alignas(64) float weights[kBlock];
  alignas(64) float gradients[kBlock];
  for (std::size_t done = 0; done < task.elements; done += most) {
    const std::size_t left = task.elements - done;
    Block block{task.begin + done, left < most ? left : most, nullptr, nullptr};
    if (tensor.gradient) {
      void* from = element_at(tensor.gradient, tensor.gradient_type, block.place);
      block.gradients = as_floats(from, tensor.gradient_type, block.count, gradients);
    }
    if (tensor.master) {
      block.weights = tensor.master + block.place;
    } else {
      void* from = element_at(tensor.parameter, tensor.parameter_type, block.place);
      block.weights = as_floats(from, tensor.parameter_type, block.count, weights);
    }
    body(block);
  }
}

}  // namespace
}  // namespace tundish::optim
