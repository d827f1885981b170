// Steps of an optimizer over all its tensors, on the CPU.
#pragma once

#include <span>
#include <vector>

#include "optim/one_step.h"

namespace tundish::optim {

// Not thread-safe. Invalid arguments throw Error (TND-601) before anything is changed.
class Optimizer {
 public:
  // threads: 0 uses all available CPUs. Results depend neither on the threads nor on the set.
  explicit Optimizer(OptimizerKind kind, unsigned threads = 0, Cpu set = cpu());

  // Binds tensors for the following steps. The caller keeps ownership of their memory.
  void bind(std::span<const TensorEntry> tensors);

  // Replaces the gradients of the bound tensors; types must match. Null skips the tensor.
  void set_gradients(std::span<void* const> gradients);

  // Returns false if a gradient was not finite and nothing was updated (StepOptions::found_inf).
  bool step(const StepOptions& options);

 private:
  BoundTensors bound_;
  WorkerPool pool_;
};

}  // namespace tundish::optim
