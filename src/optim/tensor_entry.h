// One parameter tensor, and the pieces of work that tensors are cut into. Plain structs, which a
// GPU gets as they are.
#pragma once

#include <cstdint>

namespace tundish::optim {

enum class ElementType : std::int32_t { float32 = 0, bfloat16 = 1, float16 = 2 };

// All arrays have `count` elements in one order (that of the parameter's memory), and belong to the
// caller. Null: there is none.
struct TensorEntry {
  void* parameter = nullptr;
  void* gradient = nullptr;              // null: the tensor is left out of this step
  float* state[2] = {nullptr, nullptr};  // momentum or first moment, second moment
  float* master = nullptr;        // the weights in fp32; the parameter is this, rounded to its type
  float* average = nullptr;       // the exponential moving average of the weights
  void* copy = nullptr;           // receives the weights rounded to copy_type
  float* tensor_state = nullptr;  // novograd: one number, the average of the gradient's norm
  std::uint64_t count = 0;
  ElementType parameter_type = ElementType::float32;
  ElementType gradient_type = ElementType::float32;
  ElementType copy_type = ElementType::bfloat16;
  std::uint32_t group = 0;  // which of StepOptions::groups
};

// Elements [begin, begin + elements) of a tensor: what one thread, or one block of a GPU, takes.
struct Chunk {
  std::uint32_t tensor = 0;
  std::uint32_t elements = 0;
  std::uint64_t begin = 0;
};
inline constexpr std::uint32_t kChunk = 16384;  // elements at most

}  // namespace tundish::optim
