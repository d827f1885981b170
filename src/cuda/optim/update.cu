// The update pass: one block of threads per chunk, four elements per thread at a time.
#include "cuda/optim/block_sums.cuh"
#include "cuda/optim/kernels.h"
#include "optim/group_values.h"

namespace tundish::cuda {
namespace {

using optim::ElementType;
using optim::OptimizerKind;
using optim::TensorEntry;

constexpr int kThreads = 256;

// The update of one element, and its states. `of_tensor` is the tensor's GpuStep::tensor_values.
template <OptimizerKind kind>
struct Formula;

template <>
struct Formula<OptimizerKind::sgd> {
  optim::SgdValues values;
  bool first;
  static constexpr bool second = false;

  __device__ Formula(const optim::GroupValues& given, float)
      : values(given.sgd), first(given.sgd.momentum != 0) {}
  __device__ void update(float& weight, float gradient, float& buffer, float&) const {
    if (first) {
      optim::update_sgd_momentum(weight, gradient, buffer, values);
    } else {
      optim::update_sgd(weight, gradient, values);
    }
  }
};

template <>
struct Formula<OptimizerKind::lars> {
  optim::LarsValues values;
  bool first;
  static constexpr bool second = false;

  __device__ Formula(const optim::GroupValues& given, float of_tensor)
      : values(given.lars), first(given.lars.sgd.momentum != 0) {
    values.ratio = of_tensor;
  }
  __device__ void update(float& weight, float gradient, float& buffer, float&) const {
    if (first) {
      optim::update_lars_momentum(weight, gradient, buffer, values);
    } else {
      optim::update_lars(weight, gradient, values);
    }
  }
};

template <>
struct Formula<OptimizerKind::adam> {
  optim::AdamValues values;
  static constexpr bool first = true, second = true;

  __device__ Formula(const optim::GroupValues& given, float) : values(given.adam) {}
  __device__ void update(float& weight, float gradient, float& mean, float& square) const {
    optim::update_adam(weight, gradient, mean, square, values);
  }
};

template <>
struct Formula<OptimizerKind::lion> {
  optim::LionValues values;
  static constexpr bool first = true, second = false;

  __device__ Formula(const optim::GroupValues& given, float) : values(given.lion) {}
  __device__ void update(float& weight, float gradient, float& momentum, float&) const {
    optim::update_lion(weight, gradient, momentum, values);
  }
};

template <>
struct Formula<OptimizerKind::novograd> {
  optim::NovoGradValues values;
  static constexpr bool first = true, second = false;

  __device__ Formula(const optim::GroupValues& given, float of_tensor) : values(given.novograd) {
    values.denominator = of_tensor;
  }
  __device__ void update(float& weight, float gradient, float& mean, float&) const {
    optim::update_novograd(weight, gradient, mean, values);
  }
};

// The second pass; lamb_moments has computed the moments.
template <>
struct Formula<OptimizerKind::lamb> {
  optim::LambValues values;
  static constexpr bool first = true, second = true;

  __device__ Formula(const optim::GroupValues& given, float of_tensor) : values(given.lamb) {
    values.ratio = of_tensor;
  }
  __device__ void update(float& weight, float, float& mean, float& square) const {
    optim::lamb_weight(weight, mean, square, values);
  }
};

__device__ void store_weights(const TensorEntry& tensor, const QuadRange& reach,
                              const Quad& weights, const GpuStep& step, std::uint64_t key) {
  const bool rounded = tensor.parameter_type != ElementType::float32;
  if (tensor.master) store_floats(tensor.master, reach, weights);
  if (rounded && !tensor.master && step.stochastic_rounding) {
    store_randomly(tensor.parameter, tensor.parameter_type, reach, weights, key);
  } else {
    store(tensor.parameter, tensor.parameter_type, reach, weights);
  }
  if (tensor.copy) store(tensor.copy, tensor.copy_type, reach, weights);
}

__device__ void finish(const TensorEntry& tensor, void* gradient, const QuadRange& reach,
                       const Quad& weights, const GpuStep& step) {
  if (step.keep_average && tensor.average) {
    Quad average = load_floats(tensor.average, reach);
    for (int i = 0; i < 4; ++i) {
      average.at[i] = optim::lerp(average.at[i], weights.at[i], step.average);
    }
    store_floats(tensor.average, reach, average);
  }
  if (step.clear_gradients && gradient) store(gradient, tensor.gradient_type, reach, Quad{});
}

__device__ Quad load_weights(const TensorEntry& tensor, const QuadRange& reach) {
  if (tensor.master) return load_floats(tensor.master, reach);
  return load(tensor.parameter, tensor.parameter_type, reach);
}

// Calls body(reach) for each quad of a block's chunk.
template <class Body>
__device__ void for_quads(const optim::Chunk& chunk, bool aligned, const Body& body) {
  for (std::uint32_t i = 4 * threadIdx.x; i < chunk.elements; i += 4 * kThreads) {
    const std::uint32_t left = chunk.elements - i;
    body(QuadRange{chunk.begin + i, static_cast<int>(left < 4 ? left : 4), aligned && left >= 4});
  }
}

// Updates the average and clears the gradients of a tensor that is not updated.
__device__ void leave(const optim::Chunk& chunk, const TensorEntry& tensor, void* gradient,
                      const GpuStep& given, bool skipped) {
  GpuStep step = given;
  step.keep_average = step.keep_average && tensor.average && !skipped;
  if (!step.keep_average && !(step.clear_gradients && gradient)) return;
  for_quads(chunk, is_aligned(tensor, gradient), [&](const QuadRange& reach) {
    finish(tensor, gradient, reach, load_weights(tensor, reach), step);
  });
}

template <OptimizerKind kind>
__global__ void __launch_bounds__(kThreads) update(const __grid_constant__ GpuStep step) {
  const optim::Chunk chunk = step.chunks[blockIdx.x];
  const TensorEntry tensor = step.tensors[chunk.tensor];
  void* const gradient = step.gradients[chunk.tensor];
  const bool skipped = step.scalars->skip != 0;
  if (skipped || !gradient) {
    leave(chunk, tensor, gradient, step, skipped);
    return;
  }
  const GpuValues& values = step.values[tensor.group];
  constexpr bool by_tensor =
      kind == OptimizerKind::lars || kind == OptimizerKind::lamb || kind == OptimizerKind::novograd;
  const Formula<kind> formula(values.derived, by_tensor ? step.tensor_values[chunk.tensor] : 1.0f);
  constexpr bool lamb = kind == OptimizerKind::lamb;  // moments are ready and only read here
  const float factor = static_cast<float>(step.scalars->factor) * values.sign;
  const std::uint64_t key = optim::rounding_key(step.seed, values.group.step, chunk.tensor);
  for_quads(chunk, is_aligned(tensor, gradient), [&](const QuadRange& reach) {
    Quad weights = load_weights(tensor, reach);
    const Quad gradients = lamb ? Quad{} : load(gradient, tensor.gradient_type, reach);
    Quad first = formula.first ? load_floats(tensor.state[0], reach) : Quad{};
    Quad second = formula.second ? load_floats(tensor.state[1], reach) : Quad{};
    for (int i = 0; i < 4; ++i) {
      formula.update(weights.at[i], gradients.at[i] * factor, first.at[i], second.at[i]);
    }
    if (formula.first && !lamb) store_floats(tensor.state[0], reach, first);
    if (formula.second && !lamb) store_floats(tensor.state[1], reach, second);
    store_weights(tensor, reach, weights, step, key);
    finish(tensor, gradient, reach, weights, step);
  });
}

__global__ void __launch_bounds__(kThreads) lamb_moments(const __grid_constant__ GpuStep step) {
  const optim::Chunk chunk = step.chunks[blockIdx.x];
  const TensorEntry tensor = step.tensors[chunk.tensor];
  const void* const gradient = step.gradients[chunk.tensor];
  if (step.scalars->skip || !gradient) return;
  const optim::LambValues values = step.values[tensor.group].derived.lamb;
  const float factor = static_cast<float>(step.scalars->factor) * step.values[tensor.group].sign;
  double moved = 0, weights = 0;
  for_quads(chunk, is_aligned(tensor, gradient), [&](const QuadRange& reach) {
    const Quad gradients = load(gradient, tensor.gradient_type, reach);
    Quad first = load_floats(tensor.state[0], reach);
    Quad second = load_floats(tensor.state[1], reach);
    Quad kept = load_weights(tensor, reach), updates{};
    for (int i = 0; i < reach.count; ++i) {
      optim::lamb_moments(gradients.at[i] * factor, first.at[i], second.at[i], values);
      kept.at[i] = optim::lamb_kept(kept.at[i], values);
      updates.at[i] = optim::lamb_update(kept.at[i], first.at[i], second.at[i], values);
    }
    store_floats(tensor.state[0], reach, first);
    store_floats(tensor.state[1], reach, second);
    moved += squares(updates);
    weights += squares(kept);
  });
  const double all_moved = sum_of_block<kThreads>(moved);
  const double all_weights = sum_of_block<kThreads>(weights);
  if (threadIdx.x == 0) step.chunk_sums[blockIdx.x] = {all_moved, all_weights};
}

}  // namespace

void launch_lamb_moments(const GpuStep& step, cudaStream_t stream) {
  if (step.chunk_count == 0) return;
  lamb_moments<<<step.chunk_count, kThreads, 0, stream>>>(step);
}

void launch_update(const GpuStep& step, OptimizerKind kind, cudaStream_t stream) {
  if (step.chunk_count == 0) return;
  const auto launch = [&](auto* kernel) {
    kernel<<<step.chunk_count, kThreads, 0, stream>>>(step);
  };
  switch (kind) {
    case OptimizerKind::sgd:
      return launch(update<OptimizerKind::sgd>);
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      return launch(update<OptimizerKind::adam>);
    case OptimizerKind::lion:
      return launch(update<OptimizerKind::lion>);
    case OptimizerKind::lars:
      return launch(update<OptimizerKind::lars>);
    case OptimizerKind::lamb:
      return launch(update<OptimizerKind::lamb>);
    case OptimizerKind::novograd:
      return launch(update<OptimizerKind::novograd>);
  }
}

}  // namespace tundish::cuda
