#include "cuda/decode/decoder.h"

#include <memory>

namespace tundish::cuda {

BatchDecoder::BatchDecoder(const lanes::Tables& tables, const PixelTable& table) {
  int device = 0;
  check(cudaGetDevice(&device), "find the current device");
  shape_ = device_shape(device);

  const auto decode_tables = std::make_unique<DecodeTables>();
  make_decode_tables(*decode_tables, tables);
  tables_.reserve(sizeof(DecodeTables));
  check(cudaMemcpy(tables_.as<void>(), decode_tables.get(), sizeof(DecodeTables),
                   cudaMemcpyHostToDevice),
        "copy the tables");
  pixel_table_.reserve(sizeof table.value);
  check(cudaMemcpy(pixel_table_.as<void>(), table.value.data(), sizeof table.value,
                   cudaMemcpyHostToDevice),
        "copy the table of values");
  next_unit_.reserve(sizeof(std::uint32_t));
  space_.take(space_bytes(shape_));
  // Words are read whole, including the last ones that were written only in part.
  check(cudaMemset(space_.as<void>(), 0, space_.bytes()), "clear the work space");

  values_.dtype = table.dtype;
  values_.value = pixel_table_.as<std::uint32_t>();
  values_.formula = table.formula.has_value();
  if (!table.formula) return;
  values_.factor = table.formula->factor;
  for (int c = 0; c < 3; ++c) {
    values_.mean[c] = table.formula->mean[0][c];
    values_.std[c] = table.formula->std[0][c];
    values_.inverse[c] = table.formula->inverse[0][c];
  }
}

void BatchDecoder::reserve(const BatchLayout& layout) {
  planes_.reserve(layout.plane_bytes);
  weights_.reserve(layout.weight_words * sizeof(std::uint32_t));
  errors_.reserve(layout.images * sizeof(std::uint32_t));
}

BatchMemory BatchDecoder::memory_of(const std::byte* batch) const {
  return {batch,
          planes_.as<std::uint8_t>(),
          weights_.as<std::uint32_t>(),
          errors_.as<std::uint32_t>(),
          next_unit_.as<std::uint32_t>(),
          space_.as<std::byte>()};
}

void BatchDecoder::decode(void* out, const std::byte* batch, const BatchLayout& layout,
                          cudaStream_t stream) {
  batch_.reserve(layout.bytes);
  check(cudaMemcpyAsync(batch_.as<void>(), batch, layout.bytes, cudaMemcpyHostToDevice, stream),
        "copy a batch");
  decode_on_gpu(out, batch_.as<std::byte>(), layout, stream);
}

void BatchDecoder::decode_on_gpu(void* out, const std::byte* batch, const BatchLayout& layout,
                                 cudaStream_t stream, bool levels) {
  reserve(layout);
  const BatchMemory memory = memory_of(batch);
  make_weights(memory, layout, stream);
  decode_units(memory, layout, tables(), shape_, stream);
  make_output(out, memory, layout, levels ? PixelValues{} : values_, stream);
}

void BatchDecoder::copy_errors(std::uint32_t* to, const BatchLayout& layout,
                               cudaStream_t stream) const {
  check(cudaMemcpyAsync(to, errors_.as<void>(), layout.images * sizeof(std::uint32_t),
                        cudaMemcpyDeviceToHost, stream),
        "copy the errors");
}

}  // namespace tundish::cuda
