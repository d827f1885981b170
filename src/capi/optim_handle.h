// The type behind a tundish_optimizer*.
#pragma once

#include <memory>
#include <vector>

#include "capi/torch_tensors.h"
#include "cuda/optim/gpu_optimizer.h"
#include "optim/optimizer.h"

struct tundish_optimizer {
  std::unique_ptr<tundish::optim::Optimizer> cpu;  // either this or gpu
  std::unique_ptr<tundish::cuda::GpuOptimizer> gpu = nullptr;
  std::vector<tundish::optim::TensorEntry> bound = {};
  std::vector<void*> gradients = {};  // gradients of the bound tensors, for the next steps
  std::vector<tundish::BoundParameter> parameters = {};  // empty: Python checks each tensor itself

  void use_gradients() {
    if (cpu) cpu->set_gradients(gradients);
    if (gpu) gpu->set_gradients(gradients);
    for (std::size_t i = 0; i < bound.size(); ++i) bound[i].gradient = gradients[i];
  }
};
