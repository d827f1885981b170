// Reference implementation of Optimizer::step: whole tensors, one operation at a time, one thread.
// With floats it checks the fast loops; with doubles it is the baseline for errors in ulps.
#pragma once

#include <span>
#include <valarray>

#include "optim/optimizer_kind.h"
#include "optim/step_options.h"

namespace tundish::optim {

template <class Number>
struct SlowTensor {
  std::valarray<Number> weights, gradients, first, second, average;
  Number norm = 0;  // novograd: moving average of the gradient norm
  std::size_t group = 0;
  bool left_out = false;  // true if the tensor has no gradient
};

// Uses options.scale, max_norm, ema_decay and clear_gradients; ignores element types and rounding.
// Returns the global gradient norm after the scale.
template <class Number>
double run_reference(OptimizerKind kind, std::span<SlowTensor<Number>> tensors,
                     const StepOptions& options);

extern template double run_reference(OptimizerKind, std::span<SlowTensor<float>>,
                                     const StepOptions&);
extern template double run_reference(OptimizerKind, std::span<SlowTensor<double>>,
                                     const StepOptions&);

}  // namespace tundish::optim
