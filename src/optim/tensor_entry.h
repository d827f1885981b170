// One parameter tensor, and the chunks that tensors are cut into. Plain structs, copied to a GPU
// unchanged.
#pragma once

#include <cstdint>

namespace tundish::optim {

enum class ElementType : std::int32_t { float32 = 0, bfloat16 = 1, float16 = 2 };

// All arrays have `count` elements in the parameter's memory order and belong to the caller. A null
// pointer: the array does not exist.
struct TensorEntry {
  void* parameter = nullptr;
  void* gradient = nullptr;              // null: the tensor is skipped in this step
  float* state[2] = {nullptr, nullptr};  // momentum or first moment, second moment
  float* master = nullptr;        // fp32 weights; the parameter is the master rounded to its type
  float* average = nullptr;       // exponential moving average of the weights
  void* copy = nullptr;           // receives the weights rounded to copy_type
  float* tensor_state = nullptr;  // novograd: one number, the moving average of the gradient norm
  std::uint64_t count = 0;
  ElementType parameter_type = ElementType::float32;
  ElementType gradient_type = ElementType::float32;
  ElementType copy_type = ElementType::bfloat16;
  std::uint32_t group = 0;  // index into StepOptions::groups
};

// Elements [begin, begin + elements) of a tensor: the work of one thread or one GPU block.
struct Chunk {
  std::uint32_t tensor = 0;
  std::uint32_t elements = 0;
  std::uint64_t begin = 0;
};
inline constexpr std::uint32_t kChunk = 16384;  // maximum number of elements

}  // namespace tundish::optim
