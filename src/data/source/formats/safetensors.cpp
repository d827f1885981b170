#include "data/source/formats/safetensors.h"

#include <fmt/format.h>

#include <array>

#include "data/source/formats/safetensors_head.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "safetensors";

std::optional<ArrayElement> element_of(const std::string& dtype) {
  constexpr std::array<std::string_view, kArrayElements> kTypes = {
      "BOOL", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "F16", "BF16", "F32", "F64"};
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (dtype == kTypes[i]) return static_cast<ArrayElement>(i);
  }
  return std::nullopt;
}

std::optional<Fault> place(StoredArray& out, const SafeTensor& tensor, const SharedStore& store,
                           std::uint64_t base, std::int64_t axis) {
  const std::optional<ArrayElement> element = element_of(tensor.dtype);
  if (!element) {
    return unsupported_source(kFormat, fmt::format("type '{}'", printable(tensor.dtype)), 0);
  }
  const ArrayType type{*element, tensor.shape};
  const auto steps = c_order_steps(type);
  const auto bytes = array_bytes(type);
  if (!steps || !bytes || *bytes != tensor.end - tensor.begin) {
    return damaged_source(
        kFormat,
        fmt::format("tensor '{}' has {} bytes, which is not {}", printable(tensor.name),
                    with_commas(tensor.end - tensor.begin), array_text(type)),
        base + tensor.begin);
  }
  if (type.shape.size() == 1) axis = 0;
  return place_array(out, kFormat, {type, *steps}, store, base + tensor.begin, axis);
}

}  // namespace

bool looks_like_safetensors(const Probe& probe) {
  if (!probe.is_folder && lower(probe.path).ends_with(".safetensors")) return true;
  if (probe.first.size() < 10) return false;
  const auto head = load<std::uint64_t>(probe.first.data());
  return head >= 2 && head <= probe.size - 8 && probe.text().substr(8).starts_with("{\"");
}

void read_safetensors(ArraySet& set, const SharedStore& store, std::int64_t axis) {
  const auto check = [&](const std::optional<Fault>& fault) {
    if (fault) throw Error(*fault, {.file = store->path()});
  };
  std::array<std::byte, 8> length;
  if (store->size() < 8) check(damaged_source(kFormat, "the file ends inside its head", 0));
  store->read_at(length, 0);
  const auto bytes = load<std::uint64_t>(length.data());
  if (bytes > store->size() - 8) check(damaged_source(kFormat, "the head leaves the file", 0));
  if (bytes > kMaxSafetensorsHead) {
    check(unsupported_source(kFormat, fmt::format("a head of {} bytes", with_commas(bytes))));
  }
  std::vector<std::byte> json(bytes);
  store->read_at(json, 8);
  std::vector<SafeTensor> tensors;
  auto fault =
      read_safetensors_head(tensors, {reinterpret_cast<const char*>(json.data()), json.size()},
                            store->size() - 8 - bytes);
  if (fault) fault->offset += 8;
  check(fault);
  for (const SafeTensor& tensor : tensors) {
    StoredArray array{.name = tensor.name};
    fault = place(array, tensor, store, 8 + bytes, axis);
    if (!fault) {
      set.arrays.push_back(std::move(array));
    } else if (fault->code == ErrorCode::format_unsupported) {
      set.warnings.push_back(
          fmt::format("'{}' is left out: {}", printable(tensor.name), fault->reason));
    } else {
      check(fault);
    }
  }
}

std::shared_ptr<const Source> open_safetensors(const std::string& path,
                                               const SourceOptions& options) {
  ArraySet set{.path = path, .format = kFormat, .provenance = "safetensors"};
  read_safetensors(set, std::make_shared<ByteStore>(path), options.axis);
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
