// Runs one step over bound tensors: norms, clipping and the passes over memory.
#pragma once

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

// Requires check_step() (tensor_checks.h). False: a gradient was not finite, nothing was updated.
bool run_step(const BoundTensors& bound, const StepOptions& options, WorkerPool& pool);

}  // namespace tundish::optim
