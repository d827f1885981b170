// Version 3: zarr.json.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/source/format.h"
#include "data/source/formats/chunked/array_json.h"
#include "data/source/formats/chunked/zarr_metadata.h"

namespace tundish {
namespace {

using Json = nlohmann::json;

constexpr const char* kName = "Zarr 3";

std::optional<Fault> named(std::optional<Fault> fault) {
  if (fault) fault->reason = std::string(kName) + ": " + fault->reason;
  return fault;
}

Fault damaged(std::string reason) { return damaged_source(kName, std::move(reason), 0); }
Fault unsupported(std::string reason) { return unsupported_source(kName, std::move(reason)); }

// Returns "configuration" of a codec or grid; an empty object if missing.
Json configuration(const Json& object) {
  const auto found = object.is_object() ? object.find("configuration") : object.end();
  return object.is_object() && found != object.end() && found->is_object() ? *found
                                                                           : Json::object();
}

std::string name_of(const Json& codec) {
  if (codec.is_string()) return codec.get<std::string>();
  return codec.is_object() ? text_of(codec, "name") : "";
}

const Json* list_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  const bool good = found != object.end() && found->is_array() && found->size() <= kMaxChunkSteps;
  return good ? &*found : nullptr;
}

// Returns true for codecs supported for a shard's table: little-endian, optionally a checksum.
bool read_table_codecs(ZarrShards& out, const Json& codecs) {
  if (codecs.empty() || codecs.size() > 2 || name_of(codecs[0]) != "bytes") return false;
  if (text_of(configuration(codecs[0]), "endian") == "big") return false;
  out.table_has_checksum = codecs.size() == 2;
  return codecs.size() == 1 || name_of(codecs[1]) == "crc32c";
}

std::optional<Fault> read_transpose(ZarrArray& out, const Json& settings) {
  std::vector<std::uint64_t> order;
  if (auto fault = read_sides(order, settings, "order")) return named(fault);
  if (!out.grid.stored_axes.empty()) return unsupported("two transpose codecs");
  for (const std::uint64_t axis : order) {
    out.grid.stored_axes.push_back(static_cast<std::size_t>(std::min<std::uint64_t>(axis, 64)));
  }
  return std::nullopt;
}

std::optional<Fault> read_codecs(ZarrArray& out, const Json& codecs, bool inside);

std::optional<Fault> read_shards(ZarrArray& out, const Json& settings) {
  std::vector<std::uint64_t> inner;
  if (auto fault = read_sides(inner, settings, "chunk_shape")) return named(fault);
  const Json* codecs = list_of(settings, "codecs");
  const Json* table = list_of(settings, "index_codecs");
  if (codecs == nullptr || table == nullptr) return damaged("sharding without lists of codecs");
  ZarrShards shards;
  if (!read_table_codecs(shards, *table)) return unsupported("index_codecs of the shards");
  shards.table_at_end = text_of(settings, "index_location") != "start";
  if (inner.size() != out.grid.chunk.size()) return damaged("shards of another number of axes");
  std::uint64_t chunks = 1;
  for (std::size_t a = 0; a < inner.size(); ++a) {
    if (inner[a] == 0 || out.grid.chunk[a] % inner[a] != 0 || out.grid.chunk[a] == 0) {
      return damaged("a shard has no whole number of chunks");
    }
    shards.chunks.push_back(out.grid.chunk[a] / inner[a]);
    if (shards.chunks[a] > (1u << 24) || (chunks *= shards.chunks[a]) > (1u << 24)) {
      return unsupported("a shard of more than 16 million chunks");
    }
  }
  out.grid.chunk = inner;
  out.shards = shards;
  return read_codecs(out, *codecs, true);
}

std::optional<Fault> add_codec(ZarrArray& out, const std::string& name, const Json& settings) {
  static constexpr std::pair<const char*, ChunkCodec> kCodecs[] = {
      {"gzip", ChunkCodec::gzip},
      {"zstd", ChunkCodec::zstd},
      {"blosc", ChunkCodec::blosc},
      {"crc32c", ChunkCodec::crc32c_at_end}};
  if (name == "bytes") {
    const auto bytes = static_cast<std::uint32_t>(element_bytes(out.grid.element));
    if (text_of(settings, "endian") == "big" && bytes > 1) {
      out.steps.push_back({ChunkCodec::swap_bytes, bytes});
    }
    return std::nullopt;
  }
  for (const auto& [known, codec] : kCodecs) {
    if (name != known) continue;
    out.steps.push_back({codec});
    return std::nullopt;
  }
  return unsupported(fmt::format("codec '{}'", printable(name)));
}

// Recursive, but refuses shards `inside` a shard.
std::optional<Fault> read_codecs(ZarrArray& out, const Json& codecs, bool inside) {
  int compressors = 0;
  for (const Json& codec : codecs) {
    const std::string name = name_of(codec);
    const Json settings = configuration(codec);
    if (name == "transpose") {
      if (auto fault = read_transpose(out, settings)) return fault;
    } else if (name == "sharding_indexed") {
      if (inside || codecs.size() != 1) return unsupported("sharding beside or inside of others");
      return read_shards(out, settings);
    } else {
      if (name != "bytes" && name != "crc32c" && ++compressors > 1) {
        return unsupported("two compressors, one after the other");
      }
      if (auto fault = add_codec(out, name, settings)) return fault;
    }
  }
  return std::nullopt;
}

std::optional<Fault> read_keys(ZarrArray& out, const Json& json) {
  const std::string encoding = text_of(json, "chunk_key_encoding");
  const auto found = json.find("chunk_key_encoding");
  if (encoding != "default" && encoding != "v2") return unsupported("another chunk_key_encoding");
  out.key_prefix = encoding == "default" ? "c" : "";
  const std::string separator = text_of(configuration(*found), "separator");
  if (!separator.empty() && separator != "." && separator != "/") {
    return damaged("the separator of chunk keys is neither . nor /");
  }
  out.separator = separator.empty() ? (encoding == "default" ? '/' : '.') : separator[0];
  return std::nullopt;
}

}  // namespace

std::optional<Fault> read_zarr_3(ZarrArray& out, bool& is_array, Bytes text) {
  Json json;
  if (auto fault = parse_array_json(json, text)) return named(fault);
  if (!json.contains("zarr_format") || json["zarr_format"] != 3) {
    return unsupported("'zarr_format' is another");
  }
  is_array = text_of(json, "node_type") == "array";
  if (!is_array) return std::nullopt;
  ChunkGrid& grid = out.grid;
  if (auto fault = read_sides(grid.shape, json, "shape")) return named(fault);
  const std::string type = text_of(json, "data_type");
  const auto element = element_named(type);
  if (!element) return unsupported(fmt::format("data_type '{}'", printable(type)));
  grid.element = *element;
  const auto chunk_grid = json.find("chunk_grid");
  if (chunk_grid == json.end() || name_of(*chunk_grid) != "regular") {
    return unsupported("a chunk_grid that is not regular");
  }
  if (auto fault = read_sides(grid.chunk, configuration(*chunk_grid), "chunk_shape")) {
    return named(fault);
  }
  if (auto fault = read_keys(out, json)) return fault;
  const auto fill = json.find("fill_value");
  if (auto fault = read_fill(grid.fill, grid.element, fill == json.end() ? Json() : *fill)) {
    return named(fault);
  }
  const Json* codecs = list_of(json, "codecs");
  if (codecs == nullptr) return damaged("'codecs' is no short list");
  if (auto fault = read_codecs(out, *codecs, false)) return fault;
  const auto transformers = json.find("storage_transformers");
  if (transformers != json.end() && transformers->is_array() && !transformers->empty()) {
    return unsupported("storage_transformers");
  }
  return named(check_grid(grid));
}

}  // namespace tundish
