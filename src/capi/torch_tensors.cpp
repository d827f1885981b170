// Checks of torch's tensors that Python needs in every optimizer step, without Python code per
// tensor.
#include "capi/torch_tensors.h"

#include <span>

#include "capi/call.h"
#include "capi/optim_handle.h"
#include "tundish.h"

namespace tundish {
namespace {

enum Found : std::int32_t { kFailed = -1, kUnchanged, kMoved, kDifferent };

const TorchFunctions& functions_at(const void* table) {
  return *static_cast<const TorchFunctions*>(table);
}

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

std::vector<BoundParameter> read_parameters(const TorchFunctions& torch, void* list) {
  std::vector<BoundParameter> out;
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

bool is_like(const TorchFunctions& torch, const void* tensor, const BoundParameter& known,
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

// Whether a parameter is unchanged since binding; `gradient` receives the gradient's address.
bool is_unchanged(const TorchFunctions& torch, const BoundParameter& known,
                  const optim::TensorEntry& bound, void*& gradient) {
  const void* const parameter = tensor_of(torch, known.object);
  void* data = nullptr;
  if (!is_like(torch, parameter, known, bound.parameter_type, data) || data != bound.parameter) {
    return false;
  }
  const void* const found = torch.gradient(impl_of(parameter));
  gradient = nullptr;
  if (impl_of(found) == torch.undefined) return bound.gradient == nullptr;
  if (!bound.gradient || !is_like(torch, found, known, bound.gradient_type, gradient)) return false;
  return gradient == bound.gradient || (gradient && is_on_same_device(torch, found, parameter));
}

}  // namespace
}  // namespace tundish

using namespace tundish;

// Records the bound objects: a list in the order of binding.
int32_t tundish_optimizer_register(tundish_optimizer* optimizer, const void* functions,
                                   void* parameters) try {
  optimizer->parameters.clear();
  optimizer->parameters = read_parameters(functions_at(functions), parameters);
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

// Returns kUnchanged if nothing moved, or kMoved if only gradients moved: the following steps use
// the new addresses. Returns kDifferent if anything else changed, which requires another binding.
int32_t tundish_optimizer_find(tundish_optimizer* optimizer, const void* functions,
                               void* parameters) try {
  const TorchFunctions& torch = functions_at(functions);
  const std::vector<BoundParameter>& known = optimizer->parameters;
  if (static_cast<std::size_t>(torch.list_size(parameters)) != known.size()) return kDifferent;
  if (known.size() != optimizer->bound.size()) return kDifferent;
  optimizer->gradients.resize(known.size());
  bool moved = false;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const optim::TensorEntry& bound = optimizer->bound[i];
    const bool same = torch.list_item(parameters, static_cast<int64_t>(i)) == known[i].object;
    if (!same || !is_unchanged(torch, known[i], bound, optimizer->gradients[i])) return kDifferent;
    moved = moved || optimizer->gradients[i] != bound.gradient;
  }
  if (moved) optimizer->use_gradients();
  return moved ? kMoved : kUnchanged;
} catch (...) {
  return failed(kFailed);
}

// For autograd: marks the recorded objects with a gradient as written. None is an inference tensor.
void tundish_optimizer_bump_versions(tundish_optimizer* optimizer, const void* functions) {
  const TorchFunctions& torch = functions_at(functions);
  for (std::size_t i = 0; i < optimizer->parameters.size(); ++i) {
    if (!optimizer->bound[i].gradient) continue;
    torch.bump_version(tensor_of(torch, optimizer->parameters[i].object));
  }
}

// Returns 1 if the tensors in `gradients` are the gradients of `parameters`, in order.
int32_t tundish_gradients_match(const void* functions, void* parameters, void* gradients) {
  const TorchFunctions& torch = functions_at(functions);
  const int64_t count = torch.list_size(parameters);
  if (torch.list_size(gradients) != count) return 0;
  for (int64_t i = 0; i < count; ++i) {
    const void* const found = gradient_of(torch, torch.list_item(parameters, i));
    if (impl_of(found) != impl_of(tensor_of(torch, torch.list_item(gradients, i)))) return 0;
  }
  return 1;
}

// Returns 1 if the entries of a list of dictionaries are the `count` known entries, in this order.
int32_t tundish_entries_match(const void* functions, void* dicts, const void* known,
                              uint64_t count) {
  const TorchFunctions& torch = functions_at(functions);
  const std::span entries(static_cast<const BoundEntry*>(known), count);
  std::size_t found = 0;
  for (int64_t i = 0; i < torch.list_size(dicts); ++i) {
    int64_t place = 0;
    void *key = nullptr, *value = nullptr;
    void* const dict = torch.list_item(dicts, i);
    while (torch.dict_next(dict, &place, &key, &value)) {
      if (found == count || key != entries[found].key) return 0;
      const BoundEntry& entry = entries[found++];
      if (!entry.tensor) continue;
      if (value != entry.tensor) return 0;
      if (!entry.data) continue;
      void* data = nullptr;
      if (torch.data(tensor_of(torch, value), &data) != 0 || data != entry.data) return 0;
    }
  }
  return found == count ? 1 : 0;
}

// Returns 1 if the values of a dictionary are the objects of a list, in this order.
int32_t tundish_values_match(const void* functions, void* dict, void* list) {
  const TorchFunctions& python = functions_at(functions);
  int64_t place = 0, count = 0;
  void *key = nullptr, *value = nullptr;
  const int64_t expected = python.list_size(list);
  while (python.dict_next(dict, &place, &key, &value)) {
    if (count == expected || python.list_item(list, count) != value) return 0;
    ++count;
  }
  return count == expected ? 1 : 0;
}
