#include "optim/optimizer.h"

#include <algorithm>

#include "core/fields.h"

namespace tundish::optim {
namespace {

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

Optimizer::Optimizer(OptimizerKind kind, unsigned threads, Cpu set)
    : bound_{.kind = kind, .loops = &chunk_loops(set)}, pool_(threads) {
  if (static_cast<int>(kind) < 0 || static_cast<int>(kind) >= kOptimizerKinds) {
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
  bound_.tensors.assign(tensors.begin(), tensors.end());
  bound_.chunks = std::move(chunks);
  bound_.elements = 0;
  for (const TensorEntry& tensor : tensors) bound_.elements += tensor.count;
}

void Optimizer::set_gradients(std::span<void* const> gradients) {
  if (gradients.size() != bound_.tensors.size()) {
    refuse_argument("optimizer", fmt::format("{} gradients were given for {} tensors",
                                             gradients.size(), bound_.tensors.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) bound_.tensors[i].gradient = gradients[i];
}

bool Optimizer::step(const StepOptions& options) {
  check_step(bound_, options.groups);
  return run_step(bound_, options, pool_);
}

}  // namespace tundish::optim
