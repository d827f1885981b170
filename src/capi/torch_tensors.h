// Reads torch's tensors from C++ without torch's headers, through functions that torch's libraries
// export. python/tundish/optim/_binding/torch_functions.py fills the table and tests the functions
// before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optim/tensor_entry.h"

namespace tundish {

// `tensor` is the address of an at::Tensor, `impl` the object that the tensor points to. Functions
// that return a number return 0 on success.
struct TorchFunctions {
  std::int64_t (*list_size)(void* list);
  void* (*list_item)(void* list, std::int64_t place);  // borrowed reference
  std::int32_t (*dict_next)(void* dict, std::int64_t* place, void** key, void** value);
  const void* (*gradient)(const void* impl);  // an at::Tensor, possibly undefined
  void (*bump_version)(const void* tensor);
  bool (*is_negated)(const void* tensor);  // memory holds negated elements
  std::int32_t (*data)(const void* tensor, void** out);
  std::int32_t (*layout)(const void* tensor, std::int32_t* out);
  std::int32_t (*dimensions)(const void* tensor, std::int64_t* out);
  std::int32_t (*sizes)(const void* tensor, const std::int64_t** out);
  std::int32_t (*strides)(const void* tensor, const std::int64_t** out);
  std::int32_t (*dtype)(const void* tensor, std::int32_t* out);
  std::int32_t (*device_type)(const void* tensor, std::int32_t* out);
  std::int32_t (*device_index)(const void* tensor, std::int32_t* out);
  const void* undefined;    // impl of undefined tensors
  std::uint64_t place;      // byte offset of the at::Tensor in its Python object
  std::uint64_t strided;    // torch's number of the strided layout
  std::uint64_t dtypes[3];  // torch's numbers, in the order of optim::ElementType
};

inline const void* impl_of(const void* tensor) { return *static_cast<void* const*>(tensor); }

// `object`: a torch.Tensor or torch.nn.Parameter, not an instance of a derived class.
inline const void* tensor_of(const TorchFunctions& torch, const void* object) {
  return static_cast<const std::byte*>(object) + torch.place;
}

inline const void* gradient_of(const TorchFunctions& torch, const void* object) {
  return torch.gradient(impl_of(tensor_of(torch, object)));
}

// Properties of a parameter at the time of binding.
struct BoundParameter {
  const void* object;
  std::vector<std::int64_t> sizes, strides;
};

// A dictionary entry at the time when the optimizer's states were bound.
struct BoundEntry {
  const void* key;
  const void* tensor;  // a torch.Tensor; null: any object
  const void* data;    // its memory; null: any
};

}  // namespace tundish
