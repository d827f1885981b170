// Where the gradients of torch's tensors are, found without a line of Python per tensor: by the
// interpreter's own functions and DLPack's table of C functions, which torch.Tensor carries.
#include <algorithm>

#include "capi/call.h"
#include "capi/dlpack_tensor.h"
#include "capi/optim_handle.h"
#include "tundish.h"

namespace tundish {
namespace {

using optim::ElementType;
using optim::TensorEntry;

// DLPackExchangeAPI of DLPack 1.2; the members that are used.
struct ExchangeFunctions {
  std::uint32_t major, minor;
  void* older;
  void* allocate;
  void* managed_from_object;
  void* object_from_managed;
  int (*tensor_from_object)(void* object, DLTensor* out);
};
constexpr std::uint32_t kMajor = 1;

// What Python hands over, with types.
struct Interpreter {
  explicit Interpreter(void** from)
      : list_size(reinterpret_cast<std::int64_t (*)(void*)>(from[0])),
        list_item(reinterpret_cast<void* (*)(void*, std::int64_t)>(from[1])),
        get_attribute(reinterpret_cast<void* (*)(void*, void*)>(from[2])),
        release(reinterpret_cast<void (*)(void*)>(from[3])),
        clear_error(reinterpret_cast<void (*)()>(from[4])),
        none(from[5]),
        grad(from[6]) {}

  std::int64_t (*list_size)(void* list);
  void* (*list_item)(void* list, std::int64_t place);  // borrowed
  void* (*get_attribute)(void* object, void* name);
  void (*release)(void* object);
  void (*clear_error)();
  void *none, *grad;
};

enum Found : std::int32_t { kFailed = -1, kUnchanged, kMoved, kDifferent };

bool is_of_type(const DLTensor& tensor, ElementType type) {
  const bool is_brain = type == ElementType::bfloat16;
  return tensor.dtype.lanes == 1 && tensor.dtype.code == (is_brain ? 4 : 2) &&
         tensor.dtype.bits == (type == ElementType::float32 ? 32 : 16);
}

std::uint64_t count_of(const DLTensor& tensor) {
  std::uint64_t out = 1;
  for (int i = 0; i < tensor.ndim; ++i) out *= static_cast<std::uint64_t>(tensor.shape[i]);
  return out;
}

std::byte* address_of(const DLTensor& tensor) {
  return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}

// Of one shape and device, and the elements lie in memory in the same order.
bool match(const DLTensor& a, const DLTensor& b) {
  if (a.ndim != b.ndim || !a.strides || !b.strides) return a.ndim == 0 && b.ndim == 0;
  if (a.device.device_type != b.device.device_type || a.device.device_id != b.device.device_id) {
    return false;
  }
  for (int i = 0; i < a.ndim; ++i) {
    if (a.shape[i] != b.shape[i]) return false;
    if (a.shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

// A Python object that is let go of at the end.
class Held {
 public:
  Held(const Interpreter& python, void* object) : python_(python), object_(object) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (object_) python_.release(object_);
  }
  void* get() const { return object_; }

 private:
  const Interpreter& python_;
  void* object_;
};

// Whether a tensor is as it was bound; `gradient` receives where its gradient is now.
bool is_as_bound(const Interpreter& python, const ExchangeFunctions& exchange,
                 const TensorEntry& bound, void* object, void*& gradient) {
  DLTensor parameter, found;
  if (exchange.tensor_from_object(object, &parameter) != 0) return false;
  if (address_of(parameter) != bound.parameter || count_of(parameter) != bound.count ||
      !is_of_type(parameter, bound.parameter_type)) {
    return false;
  }
  const Held held(python, python.get_attribute(object, python.grad));
  if (!held.get() || (held.get() == python.none) != (bound.gradient == nullptr)) return false;
  gradient = nullptr;
  if (held.get() == python.none) return true;
  if (exchange.tensor_from_object(held.get(), &found) != 0) return false;
  gradient = address_of(found);
  return gradient && is_of_type(found, bound.gradient_type) && match(found, parameter);
}

}  // namespace
}  // namespace tundish

int32_t tundish_optimizer_find_gradients(tundish_optimizer* optimizer, void** functions,
                                         const void* exchange_table, void* tensors) {
  using namespace tundish;
  return guarded<int32_t>(kFailed, [&]() -> int32_t {
    const Interpreter python(functions);
    const auto& exchange = *static_cast<const ExchangeFunctions*>(exchange_table);
    const auto count = static_cast<std::size_t>(python.list_size(tensors));
    if (exchange.major != kMajor || count != optimizer->bound.size()) return kDifferent;
    optimizer->gradients.resize(count);
    bool moved = false;
    for (std::size_t i = 0; i < count; ++i) {
      void* const object = python.list_item(tensors, static_cast<int64_t>(i));
      const TensorEntry& bound = optimizer->bound[i];
      if (!is_as_bound(python, exchange, bound, object, optimizer->gradients[i])) {
        python.clear_error();
        return kDifferent;
      }
      moved = moved || optimizer->gradients[i] != bound.gradient;
    }
    if (moved) optimizer->use_gradients();
    return moved ? kMoved : kUnchanged;
  });
}
