#include "optim/optimizer.h"

#include <cmath>

#include "optim/group_values.h"
#include "optim/tensor_checks.h"

namespace tundish::optim {
namespace {

constexpr std::uint64_t kAlone = 4 * kChunk;  // elements; fewer are not worth waking threads

class Step {
 public:
  Step(const BoundTensors& bound, const StepOptions& options, WorkerPool& pool)
      : bound_(bound), options_(options), pool_(pool), loops_(*bound.loops) {
    for (const Group& group : options.groups) values_.push_back(make_values(group, bound.kind));
  }

  bool run() {
    measure_gradients();
    if (!skipped_) prepare_tensors();
    for_chunks([&](std::size_t i) { update(i); });
    if (bound_.kind == OptimizerKind::lamb && !skipped_) finish_large_lamb();
    return !skipped_;
  }

 private:
  template <class Body>
  void for_chunks(const Body& body) const {
    if (bound_.elements <= kAlone) {
      for (std::size_t i = 0; i < bound_.chunks.size(); ++i) body(i);
    } else {
      pool_.run(bound_.chunks.size(), body);
    }
  }

  ChunkTask task_of(const Chunk& chunk) const {
    const TensorEntry& tensor = bound_.tensors[chunk.tensor];
    const Group& group = options_.groups[tensor.group];
    return {.tensor = &tensor,
            .begin = chunk.begin,
            .elements = chunk.elements,
            .gradient_factor = static_cast<float>(group.maximize ? -factor_ : factor_),
            .average = make_lerp(1 - options_.ema_decay),
            .keep_average = options_.ema_decay > 0 && tensor.average && !skipped_,
            .clear_gradients = options_.clear_gradients && tensor.gradient,
            .stochastic_rounding = options_.stochastic_rounding,
            .rounding_key = options_.stochastic_rounding
                                ? rounding_key(options_.seed, group.step, chunk.tensor)
                                : 0};
  }

  // Sums `loop` over the chunks of each tensor. Chunks are added in order, so that a sum does not
  // depend on the number of threads.
  std::vector<double> sum_tensors(double (*loop)(const ChunkTask&)) const {
    std::vector<double> of_chunks(bound_.chunks.size());
    for_chunks([&](std::size_t i) {
      const ChunkTask task = task_of(bound_.chunks[i]);
      if (task.tensor->gradient) of_chunks[i] = loop(task);
    });
    std::vector<double> sums(bound_.tensors.size());
    for (std::size_t i = 0; i < of_chunks.size(); ++i)
      sums[bound_.chunks[i].tensor] += of_chunks[i];
    return sums;
  }

  // Computes the global gradient norm, the clipping factor and whether the step is skipped.
  void measure_gradients() {
    if (options_.scale) factor_ = 1 / static_cast<double>(*options_.scale);
    const bool check = options_.found_inf && options_.check_finite;
    const bool of_tensors =
        bound_.kind == OptimizerKind::lars || bound_.kind == OptimizerKind::novograd;
    if (check || of_tensors || options_.max_norm > 0 || options_.norm_out) {
      gradient_sums_ = sum_tensors(loops_.gradient_squares);
      double squares = 0;
      for (const double sum : gradient_sums_) squares += sum;
      const double norm = std::sqrt(squares) * factor_;
      if (options_.norm_out) *options_.norm_out = static_cast<float>(norm);
      if (check && !std::isfinite(squares)) *options_.found_inf = 1;
      if (options_.max_norm > 0) factor_ = clipped_factor(factor_, norm, options_.max_norm);
    }
    skipped_ = options_.found_inf && *options_.found_inf != 0;
  }

  // Computes the values per tensor: LARS trust ratios and NovoGrad denominators.
  void prepare_tensors() {
    tensor_values_.assign(bound_.tensors.size(), 1.0f);
    std::vector<double> weights;
    if (bound_.kind == OptimizerKind::lars) weights = sum_tensors(loops_.weight_squares);
    for (std::size_t i = 0; i < bound_.tensors.size(); ++i) {
      const TensorEntry& tensor = bound_.tensors[i];
      if (!tensor.gradient || !tensor.count) continue;
      const Group& group = options_.groups[tensor.group];
      if (bound_.kind == OptimizerKind::lars) {
        tensor_values_[i] =
            lars_ratio(group, std::sqrt(weights[i]), std::sqrt(gradient_sums_[i]) * factor_);
      } else if (bound_.kind == OptimizerKind::novograd) {
        const double norm = std::sqrt(gradient_sums_[i]) * factor_;
        *tensor.tensor_state = novograd_norm(group, *tensor.tensor_state, norm);
        tensor_values_[i] =
            novograd_denominator(*tensor.tensor_state, values_[tensor.group].novograd);
      }
    }
    if (bound_.kind == OptimizerKind::lamb) lamb_sums_.assign(bound_.chunks.size(), {});
  }

  void update(std::size_t number) {
    const Chunk& chunk = bound_.chunks[number];
    const ChunkTask task = task_of(chunk);
    if (skipped_ || !task.tensor->gradient) {
      if (task.keep_average || task.clear_gradients) loops_.leave(task);
      return;
    }
    const bool momentum = options_.groups[task.tensor->group].momentum != 0;
    GroupValues values = values_[task.tensor->group];
    switch (bound_.kind) {
      case OptimizerKind::sgd:
        return (momentum ? loops_.sgd_momentum : loops_.sgd)(task, values.sgd);
      case OptimizerKind::adam:
      case OptimizerKind::adamw:
        return loops_.adam(task, values.adam);
      case OptimizerKind::lion:
        return loops_.lion(task, values.lion);
      case OptimizerKind::lars:
        values.lars.ratio = tensor_values_[chunk.tensor];
        return (momentum ? loops_.lars_momentum : loops_.lars)(task, values.lars);
      case OptimizerKind::lamb:
        return begin_lamb(task, number, values.lamb);
      case OptimizerKind::novograd:
        values.novograd.denominator = tensor_values_[chunk.tensor];
        return loops_.novograd(task, values.novograd);
    }
  }

  static bool is_one_chunk(const TensorEntry& tensor) { return tensor.count <= kChunk; }

  // Computes moments and norms. Finishes a one-chunk tensor while the tensor is in the cache.
  void begin_lamb(const ChunkTask& task, std::size_t number, LambValues values) {
    const LambSums sums = loops_.lamb_moments(task, values);
    if (is_one_chunk(*task.tensor)) {
      const Group& group = options_.groups[task.tensor->group];
      values.ratio = lamb_ratio(group, std::sqrt(sums.weights), std::sqrt(sums.updates));
      loops_.lamb_weights(task, values);
    } else {
      lamb_sums_[number] = sums;
    }
  }

  void finish_large_lamb() {
    std::vector<LambSums> sums(bound_.tensors.size());
    for (std::size_t i = 0; i < lamb_sums_.size(); ++i) {
      LambSums& sum = sums[bound_.chunks[i].tensor];
      sum.weights += lamb_sums_[i].weights;
      sum.updates += lamb_sums_[i].updates;
    }
    for_chunks([&](std::size_t i) {
      const Chunk& chunk = bound_.chunks[i];
      const TensorEntry& tensor = bound_.tensors[chunk.tensor];
      if (!tensor.gradient || is_one_chunk(tensor)) return;
      LambValues values = values_[tensor.group].lamb;
      values.ratio =
          lamb_ratio(options_.groups[tensor.group], std::sqrt(sums[chunk.tensor].weights),
                     std::sqrt(sums[chunk.tensor].updates));
      loops_.lamb_weights(task_of(chunk), values);
    });
  }

  const BoundTensors& bound_;
  const StepOptions& options_;
  WorkerPool& pool_;
  const ChunkLoops& loops_;
  std::vector<GroupValues> values_;
  double factor_ = 1;     // for every gradient
  bool skipped_ = false;  // true if a gradient was not finite
  std::vector<double> gradient_sums_;
  std::vector<float> tensor_values_;
  std::vector<LambSums> lamb_sums_;  // one per chunk
};

}  // namespace

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
  return Step(bound_, options, pool_).run();
}

}  // namespace tundish::optim
