// Checks of torch's tensors that Python needs in every optimizer step, without Python code per
// tensor.
#include <span>

#include "capi/call.h"
#include "capi/optim_handle.h"
#include "capi/torch_tensors.h"
#include "tundish.h"

namespace tundish {
namespace {

enum Found : std::int32_t { kFailed = -1, kUnchanged, kMoved, kDifferent };

const TorchFunctions& functions_at(const void* table) {
  return *static_cast<const TorchFunctions*>(table);
}

// Whether a parameter is unchanged since binding; `gradient` receives the gradient's address.
bool is_as_bound(const TorchFunctions& torch, const KnownParameter& known,
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
int32_t tundish_optimizer_know(tundish_optimizer* optimizer, const void* functions,
                               void* parameters) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    optimizer->known.clear();
    optimizer->known = know_parameters(functions_at(functions), parameters);
    return TUNDISH_OK;
  });
}

// Returns kUnchanged if nothing moved, or kMoved if only gradients moved: the following steps use
// the new addresses. Returns kDifferent if anything else changed, which requires another binding.
int32_t tundish_optimizer_find(tundish_optimizer* optimizer, const void* functions,
                               void* parameters) {
  return guarded<int32_t>(kFailed, [&]() -> int32_t {
    const TorchFunctions& torch = functions_at(functions);
    const std::vector<KnownParameter>& known = optimizer->known;
    if (static_cast<std::size_t>(torch.list_size(parameters)) != known.size()) return kDifferent;
    if (known.size() != optimizer->bound.size()) return kDifferent;
    optimizer->gradients.resize(known.size());
    bool moved = false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const optim::TensorEntry& bound = optimizer->bound[i];
      const bool same = torch.list_item(parameters, static_cast<int64_t>(i)) == known[i].object;
      if (!same || !is_as_bound(torch, known[i], bound, optimizer->gradients[i])) return kDifferent;
      moved = moved || optimizer->gradients[i] != bound.gradient;
    }
    if (moved) optimizer->use_gradients();
    return moved ? kMoved : kUnchanged;
  });
}

// For autograd: marks the recorded objects with a gradient as written. None is an inference tensor.
void tundish_optimizer_bump_versions(tundish_optimizer* optimizer, const void* functions) {
  const TorchFunctions& torch = functions_at(functions);
  for (std::size_t i = 0; i < optimizer->known.size(); ++i) {
    if (!optimizer->bound[i].gradient) continue;
    torch.bump_version(tensor_of(torch, optimizer->known[i].object));
  }
}

// Returns 1 if the tensors in `gradients` are the gradients of `parameters`, in order.
int32_t tundish_torch_gradients_are(const void* functions, void* parameters, void* gradients) {
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
int32_t tundish_entries_are(const void* functions, void* dicts, const void* known, uint64_t count) {
  const TorchFunctions& torch = functions_at(functions);
  const std::span entries(static_cast<const KnownEntry*>(known), count);
  std::size_t found = 0;
  for (int64_t i = 0; i < torch.list_size(dicts); ++i) {
    int64_t place = 0;
    void *key = nullptr, *value = nullptr;
    void* const dict = torch.list_item(dicts, i);
    while (torch.dict_next(dict, &place, &key, &value)) {
      if (found == count || key != entries[found].key) return 0;
      const KnownEntry& entry = entries[found++];
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
int32_t tundish_values_are(const void* functions, void* dict, void* list) {
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
