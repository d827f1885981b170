#include "optim/tensor_checks.h"

#include <algorithm>

#include "base/fields.h"

namespace tundish::optim {
namespace {

bool is_type(ElementType type) {
  return type == ElementType::float32 || type == ElementType::bfloat16 ||
         type == ElementType::float16;
}

[[noreturn]] void refuse(std::size_t tensor, const char* text) {
  refuse_argument("optimizer", fmt::format("tensor {}: {}", tensor, text));
}

int states_needed(OptimizerKind kind, const Group& group) {
  switch (kind) {
    case OptimizerKind::sgd:
    case OptimizerKind::lars:
      return group.momentum != 0 ? 1 : 0;
    case OptimizerKind::lion:
    case OptimizerKind::novograd:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

void check_kind(OptimizerKind kind) {
  if (static_cast<int>(kind) < 0 || static_cast<int>(kind) >= kOptimizerKinds) {
    refuse_argument("optimizer", "this kind does not exist");
  }
}

void check_bound(std::span<const TensorEntry> tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorEntry& tensor = tensors[i];
    if (tensor.count && !tensor.parameter) refuse(i, "its parameter is missing");
    if (!is_type(tensor.parameter_type) || !is_type(tensor.gradient_type) ||
        !is_type(tensor.copy_type)) {
      refuse(i, "an element type does not exist");
    }
  }
}

void check_gradient_count(std::size_t gradients, std::size_t tensors) {
  if (gradients == tensors) return;
  refuse_argument("optimizer",
                  fmt::format("{} gradients were given for {} tensors", gradients, tensors));
}

void check_step(std::span<const TensorEntry> tensors, OptimizerKind kind,
                std::span<const Group> groups) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorEntry& tensor = tensors[i];
    if (tensor.group >= groups.size()) refuse(i, "its group does not exist");
    if (!tensor.gradient || !tensor.count) continue;
    const int needed = states_needed(kind, groups[tensor.group]);
    for (int j = 0; j < needed; ++j) {
      if (!tensor.state[j]) refuse(i, "its state is missing");
    }
    if (kind == OptimizerKind::novograd && !tensor.tensor_state) refuse(i, "its state is missing");
  }
}

std::vector<Chunk> cut_into_chunks(std::span<const TensorEntry> tensors, std::uint32_t most) {
  std::vector<Chunk> chunks;
  for (std::uint32_t number = 0; number < tensors.size(); ++number) {
    const std::uint64_t count = tensors[number].count;
    for (std::uint64_t begin = 0; begin < count; begin += most) {
      const auto elements =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(most, count - begin));
      chunks.push_back({.tensor = number, .elements = elements, .begin = begin});
    }
  }
  return chunks;
}

}  // namespace tundish::optim
