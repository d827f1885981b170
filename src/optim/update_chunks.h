// The loops of chunk_loops.h, written for compilers to vectorize. Included by one file per
// instruction set, so everything here is inlined or local to that file.
#pragma once

#include "optim/block_elements.h"
#include "optim/square_sums.h"

namespace tundish::optim {
namespace {

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
