// Steps of an optimizer over all its tensors, on a GPU. CPU counterpart: optim/optimizer.h.
#pragma once

#include <memory>
#include <span>

#include "optim/optimizer_kind.h"
#include "optim/step_options.h"
#include "optim/tensor_entry.h"

namespace tundish::cuda {

// Not thread-safe. All addresses are in this GPU's memory. A step only launches kernels and never
// waits, so a CUDA graph can record it. The tables of a recorded step live as long as this
// object.
class GpuOptimizer {
 public:
  GpuOptimizer(optim::OptimizerKind kind, int device);
  ~GpuOptimizer();

  void bind(std::span<const optim::TensorEntry> tensors);
  void set_gradients(std::span<void* const> gradients);

  // Only the GPU knows whether a step was skipped; read *found_inf or Group::step_at later.
  void step(const optim::StepOptions& options, void* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tundish::cuda
