#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/fields.h"
#include "optim/arithmetic/gradient_factor.h"
#include "optim/rounding_key.h"

namespace tundish::optim {
namespace {

constexpr std::uint64_t kAlone = 4 * kChunk;  // elements: fewer are not worth waking threads

struct GroupValues {
  SgdValues sgd;
  AdamValues adam;
};

GroupValues make_values(const Group& group, OptimizerKind kind) {
  GroupValues out{};
  switch (kind) {
    case OptimizerKind::sgd:
      out.sgd = make_sgd_values(group);
      break;
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      out.adam = make_adam_values(group, group.decoupled || kind == OptimizerKind::adamw);
      break;
    default:
      break;
  }
  return out;
}

int states_needed(OptimizerKind kind, const Group& group) {
  if (kind == OptimizerKind::sgd) return group.momentum != 0 ? 1 : 0;
  return 2;
}

void check_tensor(const TensorEntry& tensor, std::size_t number, OptimizerKind kind,
                  std::span<const Group> groups) {
  const auto refuse = [&](const char* text) {
    refuse_argument("optimizer", fmt::format("tensor {}: {}", number, text));
  };
  if (tensor.group >= groups.size()) refuse("its group does not exist");
  if (!tensor.gradient) return;
  const int needed = states_needed(kind, groups[tensor.group]);
  for (int i = 0; i < needed; ++i) {
    if (!tensor.state[i] && tensor.count) refuse("its state is missing");
  }
}

bool is_type(ElementType type) {
  return type == ElementType::float32 || type == ElementType::bfloat16 ||
         type == ElementType::float16;
}

}  // namespace

std::vector<Chunk> cut_into_chunks(std::span<const TensorEntry> tensors) {
  std::vector<Chunk> chunks;
  for (std::uint32_t number = 0; number < tensors.size(); ++number) {
    const std::uint64_t count = tensors[number].count;
    for (std::uint64_t begin = 0; begin < count; begin += kChunk) {
      const auto elements =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(kChunk, count - begin));
      chunks.push_back({.tensor = number, .elements = elements, .begin = begin});
    }
  }
  return chunks;
}

// What one call of step() works with.
struct Optimizer::Step {
  Optimizer& optimizer;
  const StepOptions& options;
  std::vector<GroupValues> values;
  double factor = 1;     // of every gradient
  bool skipped = false;  // gradients were not finite

  template <class Body>
  void for_chunks(const Body& body) const {
    const std::vector<Chunk>& chunks = optimizer.chunks_;
    if (optimizer.elements_ <= kAlone) {
      for (std::size_t i = 0; i < chunks.size(); ++i) body(i);
    } else {
      optimizer.pool_.run(chunks.size(), body);
    }
  }

  ChunkTask task_of(const Chunk& chunk) const {
    const TensorEntry& tensor = optimizer.tensors_[chunk.tensor];
    const Group& group = options.groups[tensor.group];
    return {.tensor = &tensor,
            .begin = chunk.begin,
            .elements = chunk.elements,
            .gradient_factor = static_cast<float>(group.maximize ? -factor : factor),
            .average = make_lerp(1 - options.ema_decay),
            .keep_average = options.ema_decay > 0 && tensor.average && !skipped,
            .clear_gradients = options.clear_gradients && tensor.gradient,
            .stochastic_rounding = options.stochastic_rounding,
            .rounding_key = rounding_key(options.seed, group.step, chunk.tensor)};
  }

  // Norms, and what follows from them: clipping, and whether the step is skipped.
  void look_at_gradients() {
    if (options.scale) factor = 1 / static_cast<double>(*options.scale);
    const bool check = options.found_inf && options.check_finite;
    if (check || options.max_norm > 0 || options.norm_out) {
      const double squares = sum_gradients();
      const double norm = std::sqrt(squares) * factor;
      if (options.norm_out) *options.norm_out = static_cast<float>(norm);
      if (check && !std::isfinite(squares)) *options.found_inf = 1;
      if (options.max_norm > 0) factor = clipped_factor(factor, norm, options.max_norm);
    }
    skipped = options.found_inf && *options.found_inf != 0;
  }

  // Chunks are added in order, so the sum does not depend on the threads.
  double sum_gradients() const {
    std::vector<double> sums(optimizer.chunks_.size());
    for_chunks([&](std::size_t i) {
      const ChunkTask task = task_of(optimizer.chunks_[i]);
      if (task.tensor->gradient) sums[i] = optimizer.loops_->gradient_squares(task);
    });
    double all = 0;
    for (const double sum : sums) all += sum;
    return all;
  }

  void update(const Chunk& chunk) const {
    const ChunkTask task = task_of(chunk);
    const ChunkLoops& loops = *optimizer.loops_;
    if (skipped || !task.tensor->gradient) {
      if (task.keep_average || task.clear_gradients) loops.leave(task);
      return;
    }
    const Group& group = options.groups[task.tensor->group];
    const GroupValues& derived = values[task.tensor->group];
    switch (optimizer.kind_) {
      case OptimizerKind::sgd:
        return (group.momentum != 0 ? loops.sgd_momentum : loops.sgd)(task, derived.sgd);
      case OptimizerKind::adam:
      case OptimizerKind::adamw:
        return loops.adam(task, derived.adam);
      default:
        return;
    }
  }
};

Optimizer::Optimizer(OptimizerKind kind, unsigned threads, Cpu set)
    : kind_(kind), loops_(&chunk_loops(set)), pool_(threads) {
  if (kind != OptimizerKind::sgd && kind != OptimizerKind::adam && kind != OptimizerKind::adamw) {
    refuse_argument("optimizer", "this kind does not exist");
  }
}

void Optimizer::bind(std::span<const TensorEntry> tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorEntry& tensor = tensors[i];
    if (tensor.count && !tensor.parameter) {
      refuse_argument("optimizer", fmt::format("tensor {}: its parameter is missing", i));
    }
    if (!is_type(tensor.parameter_type) || !is_type(tensor.gradient_type) ||
        !is_type(tensor.copy_type)) {
      refuse_argument("optimizer", fmt::format("tensor {}: an element type does not exist", i));
    }
  }
  std::vector<Chunk> chunks = cut_into_chunks(tensors);
  tensors_.assign(tensors.begin(), tensors.end());
  chunks_ = std::move(chunks);
  elements_ = 0;
  for (const TensorEntry& tensor : tensors) elements_ += tensor.count;
}

void Optimizer::set_gradients(std::span<void* const> gradients) {
  if (gradients.size() != tensors_.size()) {
    refuse_argument("optimizer", fmt::format("{} gradients were given for {} tensors",
                                             gradients.size(), tensors_.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) tensors_[i].gradient = gradients[i];
}

bool Optimizer::step(const StepOptions& options) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    check_tensor(tensors_[i], i, kind_, options.groups);
  }
  Step step{*this, options, {}};
  for (const Group& group : options.groups) step.values.push_back(make_values(group, kind_));
  step.look_at_gradients();
  step.for_chunks([&](std::size_t i) { step.update(chunks_[i]); });
  return !step.skipped;
}

}  // namespace tundish::optim
