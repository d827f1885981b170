// The slow twin of Optimizer::step: whole tensors, one operation after the other, on one thread.
// With floats it is what the fast loops are compared with, with doubles the reference for ulps.
#pragma once

#include <span>
#include <valarray>

#include "optim/optimizer_kind.h"
#include "optim/step_options.h"

namespace tundish::optim {

template <class Number>
struct SlowTensor {
  std::valarray<Number> weights, gradients, first, second, average;
  Number norm = 0;  // novograd: the average of the gradient's norm
  std::size_t group = 0;
  bool left_out = false;  // it has no gradient
};

// options.scale, max_norm, ema_decay and clear_gradients count; types and rounding do not exist
// here. Returns the norm of all gradients after the scale.
template <class Number>
double run_reference(OptimizerKind kind, std::span<SlowTensor<Number>> tensors,
                     const StepOptions& options);

extern template double run_reference(OptimizerKind, std::span<SlowTensor<float>>,
                                     const StepOptions&);
extern template double run_reference(OptimizerKind, std::span<SlowTensor<double>>,
                                     const StepOptions&);

}  // namespace tundish::optim
