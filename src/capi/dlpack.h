// Tensors that leave the library: the structs of DLPack 1.0 (dmlc/dlpack), the part we use.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "augment/dtype.h"

namespace tundish {

// `owner` is kept until the consumer has freed the tensor. Strides count elements.
void* new_tensor(std::shared_ptr<void> owner, void* data, Dtype dtype,
                 std::vector<std::int64_t> shape, std::vector<std::int64_t> strides);
void* new_int64_tensor(std::shared_ptr<void> owner, void* data, std::int64_t count);

}  // namespace tundish
