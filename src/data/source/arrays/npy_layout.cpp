#include "data/source/arrays/npy_layout.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "data/source/format.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "NumPy .npy";

// Converts a fault from the codes of images to the codes of datasets.
Fault fault_of_source(const Fault& fault) {
  return fault.code == ErrorCode::codec_unsupported
             ? unsupported_source(kFormat, fault.reason, fault.offset)
             : damaged_source(kFormat, fault.reason, fault.offset);
}

}  // namespace

std::optional<ArrayElement> numpy_element(std::string_view code) {
  constexpr std::array<std::string_view, kArrayElements> kCodes = {
      "b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "", "f4", "f8"};
  if (code == "?") return ArrayElement::boolean;
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    if (!code.empty() && code == kCodes[i]) return static_cast<ArrayElement>(i);
  }
  return std::nullopt;
}

std::optional<Fault> read_npy_layout(ArrayLayout& out, std::size_t& data, Bytes first) {
  if (!begins_as_npy(first)) return damaged_source(kFormat, "it does not begin as a .npy file", 0);
  NpyHead head;
  const std::optional<Fault> fault = read_npy_head(head, first);
  if (head.data > kMaxNpyHead) {
    return unsupported_source(
        kFormat, fmt::format("a header of {} bytes", with_commas(head.data - head.text)), 8);
  }
  if (fault) return fault_of_source(*fault);
  if (head.structured) return unsupported_source(kFormat, "a structured type", head.text);
  const std::string_view code = without_byte_order(head.descr);
  const std::optional<ArrayElement> element = numpy_element(code);
  if (!element) {
    return unsupported_source(
        kFormat,
        fmt::format("elements of type '{}'{}", printable(std::string(head.descr)),
                    code.starts_with("O") ? ": Python objects are not loaded" : ""),
        head.text);
  }
  data = head.data;
  out.type = {*element, std::move(head.shape)};
  out.big_endian = head.descr.starts_with('>');
  const auto steps = head.fortran_order ? fortran_order_steps(out.type) : c_order_steps(out.type);
  if (!steps) return damaged_source(kFormat, "its shape is over 64 bits", head.text);
  out.steps = *steps;
  return std::nullopt;
}

}  // namespace tundish
