// The tensors of a batch by name, as callers receive them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capi/dlpack.h"
#include "loader/engine/engine.h"

namespace tundish {

struct BatchTensor {
  std::string name;
  void* data = nullptr;
  ElementType type = ElementType::uint8;
  std::vector<std::int64_t> shape, strides;
  bool lent = false;
  bool copies = false;  // whether the tensor is a copy, which need not keep the pixels alive
};

// Returns the images of each view (or each image of a list), labels, samples, and requested sizes.
std::vector<BatchTensor> tensors_of(Batch& batch);

// Exports a tensor of `batch` and keeps the batch alive.
void* dlpack_of(const BatchTensor& tensor, const std::shared_ptr<Batch>& batch);

}  // namespace tundish
