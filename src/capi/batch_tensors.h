// The tensors of a batch by name, as callers see them.
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
  bool copies = false;  // a tensor is a copy: it must not keep the pixels alive
};

// The views' images (or each image of a list), then labels and samples, then sizes if asked for.
std::vector<BatchTensor> tensors_of(Batch& batch);

// A tensor of `batch`, which is kept alive.
void* dlpack_of(const BatchTensor& tensor, const std::shared_ptr<Batch>& batch);

}  // namespace tundish
