#include "capi/batch_tensors.h"

#include <fmt/format.h>

#include <cstring>

namespace tundish {
namespace {

BatchTensor images_of(const Batch& batch, std::size_t number) {
  const BatchView& view = batch.views[number];
  const std::int64_t width = view.size.width, height = view.size.height;
  const std::int64_t channels = view.channels, crops = view.crops;
  const std::int64_t image = channels * height * width;
  BatchTensor out{
      .name = batch.views.size() == 1 ? "images" : fmt::format("images_{}", number),
      .data = view.pixels,
      .type = view.has_16_bits ? ElementType::uint16 : element_type(view.dtype),
      .shape = {batch.count, channels, height, width},
      .strides = {image * crops, 1, channels * width, channels},
      .lent = view.lent,
  };
  if (batch.channels_first) out.strides = {image * crops, height * width, width, 1};
  if (crops > 1) {
    out.shape.insert(out.shape.begin() + 1, crops);
    out.strides.insert(out.strides.begin() + 1, image);
  }
  return out;
}

// Returns an array of samples without an image; arrays are numbered in field order.
BatchTensor array_of(const Batch& batch, std::size_t number) {
  const BatchView& view = batch.views[number];
  BatchTensor out{.name = fmt::format("array_{}", number),
                  .data = view.pixels,
                  .type = element_type(view.array->element),
                  .shape = {batch.count},
                  .strides = {},
                  .lent = view.lent};
  for (const std::uint64_t side : view.array->shape) {
    out.shape.push_back(static_cast<std::int64_t>(side));
  }
  out.strides.resize(out.shape.size());
  std::int64_t step = 1;
  for (std::size_t i = out.shape.size(); i-- > 0; step *= out.shape[i]) out.strides[i] = step;
  return out;
}

// Returns one image of a list.
BatchTensor image_of(const Batch& batch, const BatchImage& image) {
  const std::int64_t width = image.size.width, height = image.size.height;
  const BatchView& view = batch.views.front();
  const std::int64_t channels = view.channels;
  BatchTensor out{.name = "image",
                  .data = image.pixels,
                  .type = view.has_16_bits ? ElementType::uint16 : element_type(view.dtype),
                  .shape = {channels, height, width},
                  .strides = {1, channels * width, channels}};
  if (batch.channels_first) out.strides = {height * width, width, 1};
  return out;
}

BatchTensor numbers_of(const char* name, std::vector<std::int64_t>& numbers) {
  return {.name = name,
          .data = numbers.data(),
          .type = ElementType::int64,
          .shape = {static_cast<std::int64_t>(numbers.size())},
          .strides = {1},
          .copies = true};
}

BatchTensor soft_labels_of(Batch& batch) {
  return {.name = "labels",
          .data = batch.soft_labels.data(),
          .type = ElementType::float32,
          .shape = {batch.count, batch.classes},
          .strides = {batch.classes, 1},
          .copies = true};
}

}  // namespace

std::vector<BatchTensor> tensors_of(Batch& batch) {
  std::vector<BatchTensor> out;
  for (std::size_t v = 0; !batch.is_list && v < batch.views.size(); ++v) {
    out.push_back(batch.views[v].array ? array_of(batch, v) : images_of(batch, v));
  }
  for (const BatchImage& image : batch.list) out.push_back(image_of(batch, image));
  out.push_back(batch.classes > 0 ? soft_labels_of(batch) : numbers_of("labels", batch.labels));
  out.push_back(numbers_of("samples", batch.samples));
  if (batch.has_sizes) {
    out.push_back(numbers_of("sizes", batch.sizes));
    out.back().shape = {batch.count, 2};
    out.back().strides = {2, 1};
  }
  return out;
}

void* dlpack_of(const BatchTensor& tensor, const std::shared_ptr<Batch>& batch) {
  if (!tensor.copies) {
    return new_tensor(batch, tensor.data, tensor.type, tensor.shape, tensor.strides);
  }
  std::size_t bytes = bytes_of(tensor.type);
  for (const std::int64_t one : tensor.shape) bytes *= static_cast<std::size_t>(one);
  auto copy = std::make_shared<std::vector<std::byte>>(bytes);
  if (bytes > 0) std::memcpy(copy->data(), tensor.data, bytes);
  std::byte* const data = copy->data();
  return new_tensor(std::move(copy), data, tensor.type, tensor.shape, tensor.strides);
}

}  // namespace tundish
