// The loops of chunk_loops.h, written for compilers to vectorize. Included by one file per
// instruction set, so everything here is inlined or local to that file.
#pragma once

#include <cstddef>
#include <cstring>

#include "optim/chunk_loops.h"
#include "optim/element.h"
#include "optim/square_sums.h"

namespace tundish::optim {
namespace {

// --- elements as fp32, in blocks that fit the L1 cache, whatever their types in memory
// -------------

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
// loop end costs a mispredicted branch, which also discards the loads issued ahead.
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

// --- loops
// ------------------------------------------------------------------------------------------

double gradient_squares(const ChunkTask& task) {
  const TensorEntry& tensor = *task.tensor;
  alignas(64) float buffer[kBlock];
  SquareSums sums;
  for (std::size_t done = 0; done < task.elements; done += kBlock) {
    const std::size_t left = task.elements - done;
    const std::size_t count = left < kBlock ? left : kBlock;
    void* from = element_at(tensor.gradient, tensor.gradient_type, task.begin + done);
    sums.add(as_floats(from, tensor.gradient_type, count, buffer), count);
  }
  return sums.sum();
}

double weight_squares(const ChunkTask& task) {
  SquareSums sums;
  for_blocks(task, [&](const Block& block)
                       __attribute__((always_inline)) { sums.add(block.weights, block.count); });
  return sums.sum();
}

TUNDISH_INLINE void finish(const ChunkTask& task, const Block& block) {
  store_weights(task, block);
  update_average(task, block);
  clear_gradients(task, block);
}

// Calls update(weight, gradient) for each element of a chunk. Variants with 1 and 2 states follow.
template <class Update>
TUNDISH_INLINE void update_stateless(const ChunkTask& task, const Update& update) {
  const auto body = [&](const Block& block) __attribute__((always_inline)) {
    float* __restrict weights = block.weights;
    const float* __restrict gradients = block.gradients;
    const float factor = task.gradient_factor;
    for (std::size_t i = 0; i < block.count; ++i) update(weights[i], gradients[i] * factor);
    finish(task, block);
  };
  for_blocks(task, body, is_plain(task) ? kChunk : kBlock);
}

template <class Update>
TUNDISH_INLINE void update_one_state(const ChunkTask& task, const Update& update) {
  const auto body = [&](const Block& block) __attribute__((always_inline)) {
    float* __restrict weights = block.weights;
    const float* __restrict gradients = block.gradients;
    float* __restrict first = task.tensor->state[0] + block.place;
    const float factor = task.gradient_factor;
    for (std::size_t i = 0; i < block.count; ++i) {
      update(weights[i], gradients[i] * factor, first[i]);
    }
    finish(task, block);
  };
  for_blocks(task, body, is_plain(task) ? kChunk : kBlock);
}

template <class Update>
TUNDISH_INLINE void update_two_states(const ChunkTask& task, const Update& update) {
  const auto body = [&](const Block& block) __attribute__((always_inline)) {
    float* __restrict weights = block.weights;
    const float* __restrict gradients = block.gradients;
    float* __restrict first = task.tensor->state[0] + block.place;
    float* __restrict second = task.tensor->state[1] + block.place;
    const float factor = task.gradient_factor;
    for (std::size_t i = 0; i < block.count; ++i) {
      update(weights[i], gradients[i] * factor, first[i], second[i]);
    }
    finish(task, block);
  };
  for_blocks(task, body, is_plain(task) ? kChunk : kBlock);
}

// Copies the values: the compiler must assume that stores to weights could change them.
void sgd(const ChunkTask& task, const SgdValues& given) {
  const SgdValues values = given;
  update_stateless(task, [values](float& weight, float gradient) __attribute__((always_inline)) {
    update_sgd(weight, gradient, values);
  });
}

void sgd_momentum(const ChunkTask& task, const SgdValues& given) {
  const SgdValues values = given;
  update_one_state(
      task, [values](float& weight, float gradient, float& buffer) __attribute__((always_inline)) {
        update_sgd_momentum(weight, gradient, buffer, values);
      });
}

void adam(const ChunkTask& task, const AdamValues& given) {
  const AdamValues values = given;
  update_two_states(task, [values](float& weight, float gradient, float& first, float& second)
                              __attribute__((always_inline)) {
                                update_adam(weight, gradient, first, second, values);
                              });
}

void lion(const ChunkTask& task, const LionValues& given) {
  const LionValues values = given;
  update_one_state(task, [values](float& weight, float gradient, float& state) __attribute__((
                             always_inline)) { update_lion(weight, gradient, state, values); });
}

void lars(const ChunkTask& task, const LarsValues& given) {
  const LarsValues values = given;
  update_stateless(task, [values](float& weight, float gradient) __attribute__((always_inline)) {
    update_lars(weight, gradient, values);
  });
}

void lars_momentum(const ChunkTask& task, const LarsValues& given) {
  const LarsValues values = given;
  update_one_state(
      task, [values](float& weight, float gradient, float& state) __attribute__((always_inline)) {
        update_lars_momentum(weight, gradient, state, values);
      });
}

void novograd(const ChunkTask& task, const NovoGradValues& given) {
  const NovoGradValues values = given;
  update_one_state(task, [values](float& weight, float gradient, float& state) __attribute__((
                             always_inline)) { update_novograd(weight, gradient, state, values); });
}

LambSums lamb_moments_and_sums(const ChunkTask& task, const LambValues& given) {
  const LambValues values = given;
  const float factor = task.gradient_factor;
  alignas(64) float kept[kBlock];
  alignas(64) float updates[kBlock];
  SquareSums kept_sums, update_sums;
  for_blocks(task, [&](const Block& block) __attribute__((always_inline)) {
    const float* __restrict weights = block.weights;
    const float* __restrict gradients = block.gradients;
    float* __restrict first = task.tensor->state[0] + block.place;
    float* __restrict second = task.tensor->state[1] + block.place;
    for (std::size_t i = 0; i < block.count; ++i) {
      lamb_moments(gradients[i] * factor, first[i], second[i], values);
      kept[i] = lamb_kept(weights[i], values);
      updates[i] = lamb_update(kept[i], first[i], second[i], values);
    }
    kept_sums.add(kept, block.count);
    update_sums.add(updates, block.count);
    clear_gradients(task, block);
  });
  return {.weights = kept_sums.sum(), .updates = update_sums.sum()};
}

void lamb_weights(const ChunkTask& task, const LambValues& given) {
  const LambValues values = given;
  for_blocks(task, [&](const Block& block) __attribute__((always_inline)) {
    float* __restrict weights = block.weights;
    const float* __restrict first = task.tensor->state[0] + block.place;
    const float* __restrict second = task.tensor->state[1] + block.place;
    for (std::size_t i = 0; i < block.count; ++i) {
      lamb_weight(weights[i], first[i], second[i], values);
    }
    store_weights(task, block);
    update_average(task, block);
  });
}

void leave(const ChunkTask& task) {
  for_blocks(task, [&](const Block& block) __attribute__((always_inline)) {
    update_average(task, block);
    clear_gradients(task, block);
  });
}

constexpr ChunkLoops kLoops = {.gradient_squares = gradient_squares,
                               .weight_squares = weight_squares,
                               .sgd = sgd,
                               .sgd_momentum = sgd_momentum,
                               .adam = adam,
                               .lion = lion,
                               .lars = lars,
                               .lars_momentum = lars_momentum,
                               .lamb_moments = lamb_moments_and_sums,
                               .lamb_weights = lamb_weights,
                               .novograd = novograd,
                               .leave = leave};

}  // namespace
}  // namespace tundish::optim
