// One step over all tensors of an optimizer, on the CPU.
#pragma once

#include <span>
#include <vector>

#include "optim/one_step.h"

namespace tundish::optim {

// Used by one thread at a time. Wrong arguments throw Error (TND-601) before anything is changed.
class Optimizer {
 public:
  // threads: 0 for as many as CPUs may be used. Results do not depend on it, nor on the set.
  explicit Optimizer(OptimizerKind kind, unsigned threads = 0, Cpu set = cpu());

  // The tensors of the next steps, until the next call. Their memory stays the caller's.
  void bind(std::span<const TensorEntry> tensors);

  // Other gradients for the bound tensors, of the same types. Null: the tensor is left out.
  void set_gradients(std::span<void* const> gradients);

  // False: a gradient was not finite and nothing was updated (StepOptions::found_inf).
  bool step(const StepOptions& options);

 private:
  BoundTensors bound_;
  WorkerPool pool_;
};

}  // namespace tundish::optim
