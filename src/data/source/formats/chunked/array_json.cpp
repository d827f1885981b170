#include "data/source/formats/chunked/array_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace tundish {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;

Fault damaged(std::string reason) { return {ErrorCode::source_damaged, std::move(reason), 0}; }

// Checks the nesting of brackets outside of strings before a parser allocates memory.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// Selects what Tundish uses of the metadata of an array while the JSON is parsed. Attributes and
// consolidated metadata, which may be large, take no memory.
class UsedMembers {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) is_used_ = is_name_used(parsed);
    const bool ends =
        event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end;
    if (depth == 0 || ends) return true;
    return is_used_ && ++values_ <= kMaxValues;
  }
  bool has_too_many() const { return values_ > kMaxValues; }

 private:
  static bool is_name_used(const Json& name) {
    constexpr std::string_view kNames[] = {"zarr_format",
                                           "shape",
                                           "chunks",
                                           "dtype",
                                           "compressor",
                                           "filters",
                                           "fill_value",
                                           "order",
                                           "dimension_separator",
                                           "node_type",
                                           "data_type",
                                           "chunk_grid",
                                           "codecs",
                                           "chunk_key_encoding",
                                           "storage_transformers",
                                           "dimensions",
                                           "blockSize",
                                           "dataType",
                                           "compression",
                                           "compressionType"};
    const auto& text = name.get_ref<const std::string&>();
    return std::find(std::begin(kNames), std::end(kNames), text) != std::end(kNames);
  }

  static constexpr std::size_t kMaxValues = 10'000;
  bool is_used_ = false;  // the member that is being parsed
  std::size_t values_ = 0;
};

// Converts to IEEE half, rounded to the nearest, and half way to even.
std::uint16_t to_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  const double size = std::fabs(value);
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);         // size < 2^exponent
  if (size < 0x1p-14) exponent = -13;  // subnormal, or zero
  // The smallest step of this exponent; a carry of the fraction increments the exponent.
  const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 11 - exponent)));
  return static_cast<std::uint16_t>(sign | ((static_cast<unsigned>(exponent + 13) << 10) + steps));
}

void put(std::vector<std::byte>& out, std::uint64_t bits, ArrayElement element) {
  std::byte all[8];
  store(all, bits);
  out.assign(all, all + element_bytes(element));
}

bool is_float(ArrayElement element) {
  return element == ArrayElement::float16 || element == ArrayElement::bfloat16 ||
         element == ArrayElement::float32 || element == ArrayElement::float64;
}

std::uint64_t float_bits(double value, ArrayElement element) {
  if (element == ArrayElement::float16) return to_half(value);
  if (element == ArrayElement::float64) return std::bit_cast<std::uint64_t>(value);
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return element == ArrayElement::bfloat16 ? bits >> 16 : bits;
}

}  // namespace

std::optional<Fault> parse_array_json(Json& out, Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() > kMaxArrayJson) return damaged("the JSON has more than 16 MiB");
  if (is_too_deep(text)) return damaged("the JSON is nested too deeply");
  UsedMembers used;
  out = Json::parse(text, std::ref(used), false);
  if (!out.is_object()) return damaged("this is no JSON object");
  if (used.has_too_many()) return damaged("the JSON has too many values");
  return std::nullopt;
}

std::optional<Fault> read_sides(std::vector<std::uint64_t>& out, const Json& object,
                                const char* name) {
  out.clear();
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) {
    return damaged(fmt::format("'{}' is no list of numbers", name));
  }
  if (found->size() > kMaxArraySides) return damaged(fmt::format("'{}' has too many axes", name));
  for (const Json& side : *found) {
    if (!side.is_number_unsigned()) {
      return damaged(fmt::format("'{}' has something else than whole numbers", name));
    }
    out.push_back(side.get<std::uint64_t>());
  }
  return std::nullopt;
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_object()) return {};
  for (const char* inner : {"id", "name", "type"}) {
    if (const auto text = found->find(inner); text != found->end() && text->is_string()) {
      return text->get<std::string>();
    }
  }
  return {};
}

std::optional<Fault> read_fill(std::vector<std::byte>& out, ArrayElement element,
                               const Json& value) {
  put(out, 0, element);
  if (value.is_null()) return std::nullopt;
  if (value.is_boolean()) {
    put(out, is_float(element) ? float_bits(value.get<bool>(), element) : value.get<bool>(),
        element);
    return std::nullopt;
  }
  if (value.is_number()) {
    const double number = value.get<double>();
    std::uint64_t bits = 0;
    if (is_float(element)) {
      bits = float_bits(number, element);
    } else if (value.is_number_unsigned()) {
      bits = value.get<std::uint64_t>();
    } else if (value.is_number_integer()) {
      bits = static_cast<std::uint64_t>(value.get<std::int64_t>());
    } else if (std::fabs(number) < 0x1p63) {
      bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
    }
    put(out, bits, element);
    return std::nullopt;
  }
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_float(element) && (text == "NaN" || text == "Infinity" || text == "-Infinity")) {
    const double number = text == "NaN"        ? std::nan("")
                          : text == "Infinity" ? kInfinity
                                               : -kInfinity;
    put(out, float_bits(number, element), element);
    return std::nullopt;
  }
  std::uint64_t bits = 0;
  const char* const end = text.data() + text.size();
  if (text.starts_with("0x") && text.size() > 2) {
    const auto result = std::from_chars(text.data() + 2, end, bits, 16);
    if (result.ec == std::errc{} && result.ptr == end) {
      put(out, bits, element);
      return std::nullopt;
    }
  }
  return damaged("the fill value is neither a number nor NaN nor bits");
}

}  // namespace tundish
