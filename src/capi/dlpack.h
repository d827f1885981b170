// Tensors exported from the library: the used part of the DLPack 1.0 structs (dmlc/dlpack).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "augment/dtype.h"
#include "base/array_type.h"

namespace tundish {

// Numbered like tundish_tensor_info.dtype.
enum class ElementType : std::int32_t {
  uint8,
  float32,
  float16,
  bfloat16,
  int64,
  uint16,
  boolean,
  int8,
  int16,
  int32,
  uint32,
  uint64,
  float64,
};
inline ElementType element_type(Dtype dtype) { return static_cast<ElementType>(dtype); }
ElementType element_type(ArrayElement element);
std::size_t bytes_of(ElementType type);

// Keeps `owner` until the consumer has freed the tensor. Strides count elements.
void* new_tensor(std::shared_ptr<void> owner, void* data, ElementType type,
                 std::vector<std::int64_t> shape, std::vector<std::int64_t> strides);

}  // namespace tundish
