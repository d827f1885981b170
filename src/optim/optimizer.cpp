#include "optim/optimizer.h"

#include "optim/tensor_checks.h"

namespace tundish::optim {

Optimizer::Optimizer(OptimizerKind kind, unsigned threads, Cpu set)
    : bound_{.kind = kind, .loops = &chunk_loops(set)}, pool_(threads) {
  check_kind(kind);
}

void Optimizer::bind(std::span<const TensorEntry> tensors) {
  check_bound(tensors);
  std::vector<Chunk> chunks = cut_into_chunks(tensors);
  bound_.tensors.assign(tensors.begin(), tensors.end());
  bound_.chunks = std::move(chunks);
  bound_.elements = 0;
  for (const TensorEntry& tensor : tensors) bound_.elements += tensor.count;
}

void Optimizer::set_gradients(std::span<void* const> gradients) {
  check_gradient_count(gradients.size(), bound_.tensors.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) bound_.tensors[i].gradient = gradients[i];
}

bool Optimizer::step(const StepOptions& options) {
  check_step(bound_.tensors, bound_.kind, options.groups);
  return run_step(bound_, options, pool_);
}

}  // namespace tundish::optim
