// Version 2: .zarray.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/source/format.h"
#include "data/source/formats/chunked/array_json.h"
#include "data/source/formats/chunked/zarr_metadata.h"

namespace tundish {
namespace {

using Json = nlohmann::json;

constexpr const char* kName = "Zarr 2";

std::optional<Fault> named(std::optional<Fault> fault) {
  if (fault) fault->reason = std::string(kName) + ": " + fault->reason;
  return fault;
}

// Reads NumPy's short names: "<u2", "|b1", ">f4".
std::optional<Fault> read_type(ZarrArray& out, const Json& json) {
  const std::string text = text_of(json, "dtype");
  static constexpr std::pair<const char*, ArrayElement> kTypes[] = {
      {"b1", ArrayElement::boolean}, {"i1", ArrayElement::int8},    {"u1", ArrayElement::uint8},
      {"i2", ArrayElement::int16},   {"u2", ArrayElement::uint16},  {"i4", ArrayElement::int32},
      {"u4", ArrayElement::uint32},  {"i8", ArrayElement::int64},   {"u8", ArrayElement::uint64},
      {"f2", ArrayElement::float16}, {"f4", ArrayElement::float32}, {"f8", ArrayElement::float64}};
  for (const auto& [name, element] : kTypes) {
    if (text.size() != 3 || text.substr(1) != name) continue;
    const auto bytes = static_cast<std::uint32_t>(element_bytes(element));
    const bool swapped = text[0] == '>';
    if (!swapped && text[0] != '<' && (text[0] != '|' || bytes > 1)) break;
    out.grid.element = element;
    if (swapped && bytes > 1) out.steps.push_back({ChunkCodec::swap_bytes, bytes});
    return std::nullopt;
  }
  return unsupported_source(kName, fmt::format("dtype '{}'", printable(text)));
}

std::optional<Fault> add_filters(ZarrArray& out, const Json& json) {
  const auto filters = json.find("filters");
  if (filters == json.end() || filters->is_null()) return std::nullopt;
  if (!filters->is_array() || filters->size() > kMaxChunkSteps / 2) {
    return damaged_source(kName, "'filters' is no short list", 0);
  }
  for (const Json& filter : *filters) {
    const std::string id = filter.is_object() ? text_of(filter, "id") : "";
    const auto size = filter.is_object() ? filter.find("elementsize") : filter.end();
    const bool sized = filter.is_object() && size != filter.end() && size->is_number_unsigned();
    const std::uint64_t bytes = sized ? size->get<std::uint64_t>() : 4;  // numcodecs' default
    if (id != "shuffle" || bytes == 0 || bytes > 255) {
      return unsupported_source(kName, fmt::format("filter '{}'", printable(id)));
    }
    out.steps.push_back({ChunkCodec::shuffle, static_cast<std::uint32_t>(bytes)});
  }
  return std::nullopt;
}

std::optional<Fault> add_compressor(ZarrArray& out, const Json& json) {
  const auto compressor = json.find("compressor");
  if (compressor == json.end() || compressor->is_null()) return std::nullopt;
  const std::string id = text_of(json, "compressor");
  static constexpr std::pair<const char*, ChunkCodec> kCodecs[] = {
      {"zlib", ChunkCodec::gzip},  {"gzip", ChunkCodec::gzip},     {"zstd", ChunkCodec::zstd},
      {"bz2", ChunkCodec::bzip2},  {"lz4", ChunkCodec::lz4_sized}, {"lzma", ChunkCodec::xz},
      {"blosc", ChunkCodec::blosc}};
  for (const auto& [name, codec] : kCodecs) {
    if (id != name) continue;
    out.steps.push_back({codec});
    return std::nullopt;
  }
  return unsupported_source(kName, fmt::format("compressor '{}'", printable(id)));
}

}  // namespace

std::optional<Fault> read_zarr_2(ZarrArray& out, Bytes text) {
  Json json;
  if (auto fault = parse_array_json(json, text)) return named(fault);
  if (!json.contains("zarr_format") || json["zarr_format"] != 2) {
    return unsupported_source(kName, "'zarr_format' is another");
  }
  ChunkGrid& grid = out.grid;
  if (auto fault = read_sides(grid.shape, json, "shape")) return named(fault);
  if (auto fault = read_sides(grid.chunk, json, "chunks")) return named(fault);
  if (auto fault = read_type(out, json)) return fault;
  if (auto fault = add_filters(out, json)) return fault;
  if (auto fault = add_compressor(out, json)) return fault;
  const auto fill = json.find("fill_value");
  if (auto fault = read_fill(grid.fill, grid.element, fill == json.end() ? Json() : *fill)) {
    return named(fault);
  }
  const std::string order = text_of(json, "order");
  if (order != "C" && order != "F") return damaged_source(kName, "'order' is neither C nor F", 0);
  for (std::size_t a = grid.shape.size(); order == "F" && a > 0; --a) {
    grid.stored_axes.push_back(a - 1);
  }
  const std::string separator = text_of(json, "dimension_separator");
  if (!separator.empty() && separator != "." && separator != "/") {
    return damaged_source(kName, "'dimension_separator' is neither . nor /", 0);
  }
  out.separator = separator.empty() ? '.' : separator[0];
  return named(check_grid(grid));
}

std::string zarr_key(const ZarrArray& array, std::span<const std::uint64_t> at) {
  std::string out = array.key_prefix;
  for (const std::uint64_t place : at) {
    if (!out.empty()) out += array.separator;
    out += fmt::format("{}", place);
  }
  return out;
}

}  // namespace tundish
