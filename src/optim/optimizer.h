// Steps of an optimizer over all its tensors, on the CPU.
#pragma once

#include <span>
#include <vector>

#include "optim/chunk_loops.h"
#include "optim/optimizer_kind.h"
#include "optim/step_options.h"
#include "optim/tensor_entry.h"
#include "optim/worker_pool.h"

namespace tundish::optim {

// State that an Optimizer keeps between steps.
struct BoundTensors {
  OptimizerKind kind;
  const ChunkLoops* loops;
  std::vector<TensorEntry> tensors = {};
  std::vector<Chunk> chunks = {};  // in the order of the tensors
  std::uint64_t elements = 0;      // total over all tensors
};

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
