#include "capi/dlpack.h"

#include "capi/call.h"
#include "capi/dlpack_tensor.h"
#include "tundish.h"

namespace tundish {
namespace {

struct DLManagedTensorVersioned {
  struct {
    std::uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor tensor;
};

// The unversioned struct, for consumers older than DLPack 1.0.
struct DLManagedTensor {
  DLTensor tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

constexpr std::int32_t kCpuDevice = 1;

struct Tensor {
  DLManagedTensorVersioned managed;
  std::shared_ptr<void> owner;
  std::vector<std::int64_t> shape, strides;
};

// Indexed by ElementType.
constexpr DLDataType kElements[] = {
    {1, 8, 1}, {2, 32, 1}, {2, 16, 1}, {4, 16, 1}, {0, 64, 1}, {1, 16, 1}, {6, 8, 1},
    {0, 8, 1}, {0, 16, 1}, {0, 32, 1}, {1, 32, 1}, {1, 64, 1}, {2, 64, 1},
};

DLDataType element(ElementType type) { return kElements[static_cast<std::size_t>(type)]; }

// PyCapsule_IsValid and PyCapsule_GetPointer of the running interpreter.
int (*capsule_is_valid)(void*, const char*) = nullptr;
void* (*capsule_get_pointer)(void*, const char*) = nullptr;

}  // namespace

std::size_t bytes_of(ElementType type) { return element(type).bits / 8u; }

ElementType element_type(ArrayElement element) {
  switch (element) {
    case ArrayElement::boolean:
      return ElementType::boolean;
    case ArrayElement::int8:
      return ElementType::int8;
    case ArrayElement::uint8:
      return ElementType::uint8;
    case ArrayElement::int16:
      return ElementType::int16;
    case ArrayElement::uint16:
      return ElementType::uint16;
    case ArrayElement::int32:
      return ElementType::int32;
    case ArrayElement::uint32:
      return ElementType::uint32;
    case ArrayElement::int64:
      return ElementType::int64;
    case ArrayElement::uint64:
      return ElementType::uint64;
    case ArrayElement::float16:
      return ElementType::float16;
    case ArrayElement::bfloat16:
      return ElementType::bfloat16;
    case ArrayElement::float32:
      return ElementType::float32;
    case ArrayElement::float64:
      return ElementType::float64;
  }
  return ElementType::uint8;
}

void* new_tensor(std::shared_ptr<void> owner, void* data, ElementType type,
                 std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  auto tensor = std::make_unique<Tensor>();
  tensor->owner = std::move(owner);
  tensor->shape = std::move(shape);
  tensor->strides = std::move(strides);
  tensor->managed = {
      .version = {1, 0},
      .manager_ctx = tensor.get(),
      .deleter =
          [](DLManagedTensorVersioned* self) { delete static_cast<Tensor*>(self->manager_ctx); },
      .flags = 0,
      .tensor = {.data = data,
                 .device = {kCpuDevice, 0},
                 .ndim = static_cast<std::int32_t>(tensor->shape.size()),
                 .dtype = element(type),
                 .shape = tensor->shape.data(),
                 .strides = tensor->strides.data(),
                 .byte_offset = 0}};
  return &tensor.release()->managed;
}

}  // namespace tundish

void tundish_tensor_free(void* tensor) {
  auto* managed = static_cast<tundish::DLManagedTensorVersioned*>(tensor);
  if (managed && managed->deleter) managed->deleter(managed);
}

void* tundish_tensor_unversioned(void* tensor) try {
  auto* versioned = static_cast<tundish::DLManagedTensorVersioned*>(tensor);
  return new tundish::DLManagedTensor{.tensor = versioned->tensor,
                                      .manager_ctx = versioned,
                                      .deleter = [](tundish::DLManagedTensor* self) {
                                        tundish_tensor_free(self->manager_ctx);
                                        delete self;
                                      }};
} catch (...) {
  return tundish::failed(nullptr);
}

void tundish_capsule_functions(void* is_valid, void* get_pointer) {
  tundish::capsule_is_valid = reinterpret_cast<int (*)(void*, const char*)>(is_valid);
  tundish::capsule_get_pointer = reinterpret_cast<void* (*)(void*, const char*)>(get_pointer);
}

void tundish_capsule_destructor(void* capsule) {
  // A consumer renames the capsule that it takes.
  if (tundish::capsule_is_valid(capsule, "dltensor_versioned")) {
    tundish_tensor_free(tundish::capsule_get_pointer(capsule, "dltensor_versioned"));
  } else if (tundish::capsule_is_valid(capsule, "dltensor")) {
    auto* managed =
        static_cast<tundish::DLManagedTensor*>(tundish::capsule_get_pointer(capsule, "dltensor"));
    managed->deleter(managed);
  }
}
