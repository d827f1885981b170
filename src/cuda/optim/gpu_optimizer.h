// One step over all tensors of an optimizer, on a GPU. optim/optimizer.h is its twin on the CPU.
#pragma once

#include <memory>
#include <span>

#include "optim/optimizer_kind.h"
#include "optim/step_options.h"
#include "optim/tensor_entry.h"

namespace tundish::cuda {

// Used by one thread at a time. All addresses are of this GPU's memory. A step only launches
// kernels: nothing waits, so a CUDA graph can record it. A recorded step keeps the tables it was
// recorded with, as long as this object lives.
class GpuOptimizer {
 public:
  GpuOptimizer(optim::OptimizerKind kind, int device);
  ~GpuOptimizer();

  void bind(std::span<const optim::TensorEntry> tensors);
  void set_gradients(std::span<void* const> gradients);

  // Whether it was skipped is known to the GPU alone: *found_inf, and Group::step_at, say it later.
  void step(const optim::StepOptions& options, void* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tundish::cuda
