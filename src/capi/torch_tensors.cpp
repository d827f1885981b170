#include "capi/torch_tensors.h"

#include <algorithm>

namespace tundish {
namespace {

struct Shape {
  std::int64_t dimensions = 0;
  const std::int64_t *sizes = nullptr, *strides = nullptr;
};

// Checks the layout first, because torch prints an error for strides of a sparse tensor.
bool read_shape(const TorchFunctions& torch, const void* tensor, Shape& out) {
  std::int32_t layout = -1;
  return torch.layout(tensor, &layout) == 0 &&
         static_cast<std::uint64_t>(layout) == torch.strided &&
         torch.dimensions(tensor, &out.dimensions) == 0 && torch.sizes(tensor, &out.sizes) == 0 &&
         torch.strides(tensor, &out.strides) == 0;
}

}  // namespace

std::vector<KnownParameter> know_parameters(const TorchFunctions& torch, void* list) {
  std::vector<KnownParameter> out;
  for (std::int64_t i = 0; i < torch.list_size(list); ++i) {
    const void* const object = torch.list_item(list, i);
    Shape shape;
    if (!read_shape(torch, tensor_of(torch, object), shape)) return {};
    out.push_back({object,
                   {shape.sizes, shape.sizes + shape.dimensions},
                   {shape.strides, shape.strides + shape.dimensions}});
  }
  return out;
}

bool is_like(const TorchFunctions& torch, const void* tensor, const KnownParameter& known,
             optim::ElementType type, void*& data) {
  Shape shape;
  std::int32_t dtype = -1;
  if (!read_shape(torch, tensor, shape) || torch.dtype(tensor, &dtype) != 0 ||
      static_cast<std::uint64_t>(dtype) != torch.dtypes[static_cast<std::size_t>(type)] ||
      static_cast<std::size_t>(shape.dimensions) != known.sizes.size() ||
      torch.is_negated(tensor)) {
    return false;
  }
  for (std::size_t i = 0; i < known.sizes.size(); ++i) {
    if (shape.sizes[i] != known.sizes[i]) return false;
    if (shape.sizes[i] != 1 && shape.strides[i] != known.strides[i]) return false;
  }
  return torch.data(tensor, &data) == 0;
}

bool is_on_same_device(const TorchFunctions& torch, const void* a, const void* b) {
  std::int32_t types[2] = {-1, -2}, numbers[2] = {-1, -2};
  return torch.device_type(a, &types[0]) == 0 && torch.device_type(b, &types[1]) == 0 &&
         torch.device_index(a, &numbers[0]) == 0 && torch.device_index(b, &numbers[1]) == 0 &&
         types[0] == types[1] && numbers[0] == numbers[1];
}

}  // namespace tundish
