#include "rewrite/convert/npy_elements.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/decode/raw.h"
#include "data/source/arrays/npy_layout.h"

namespace tundish {

void read_npy_elements(NpyElements& out, Bytes npy, const ConvertSample& sample) {
  const Where where = sample.where();
  ArrayLayout layout;
  std::size_t data = 0;
  if (const auto fault =
          read_npy_layout(layout, data, npy.first(std::min(npy.size(), kMaxNpyHead)))) {
    throw SampleError(*fault, where);
  }
  const std::optional<std::uint64_t> bytes = array_bytes(layout.type);
  if (!bytes || *bytes != npy.size() - data) {
    throw SampleError(ErrorCode::image_damaged, where,
                      fmt::format("it has {} bytes of elements and is no {}",
                                  with_commas(npy.size() - data), array_text(layout.type)));
  }
  // Treats the whole array as one sample of a store, which converts it to C order.
  StoredArray array{.name = {},
                    .type = layout.type,
                    .count = 1,
                    .sample_step = *bytes,
                    .steps = layout.steps,
                    .big_endian = layout.big_endian};
  if (layout.steps == c_order_steps(layout.type)) array.steps.clear();
  const Bytes elements = npy.subspan(data);
  array.pieces.push_back({std::make_shared<ByteStore>(
                              std::vector<std::byte>(elements.begin(), elements.end()), sample.key),
                          0, 0});
  out.type = layout.type;
  read_array(out.elements, array, 0);
}

void check_elements(const Field& field, const ConvertSample& sample, Bytes bytes) {
  if (!field.array) return;
  const Where where = sample.where();
  if (field.type == FieldType::image) {
    ImageHeader header;
    auto fault = read_raw_header(header, *field.array, field.channels_first, bytes);
    if (!fault) fault = check_limits(header, bytes.size(), Limits{});
    if (fault) throw SampleError(*fault, where);
  }
  if (array_bytes(*field.array) == bytes.size()) return;
  throw SampleError(ErrorCode::image_damaged, where,
                    fmt::format("field '{}' has {} bytes and is no {}", printable(field.name),
                                with_commas(bytes.size()), array_text(*field.array)));
}

}  // namespace tundish
