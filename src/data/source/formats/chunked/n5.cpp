#include "data/source/formats/chunked/n5.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/source/chunks/big_endian.h"
#include "data/source/format.h"
#include "data/source/formats/chunked/array_folder.h"
#include "data/source/formats/chunked/array_json.h"
#include "data/source/formats/chunked/chunked_array_source.h"
#include "data/source/names.h"

namespace tundish {
namespace {

using Json = nlohmann::json;

constexpr const char* kName = "N5";

std::optional<Fault> add_codec(std::vector<ChunkStep>& steps, const std::string& type) {
  if (type == "raw") return std::nullopt;
  for (const auto& [name, codec] : {std::pair{"gzip", ChunkCodec::gzip},
                                    {"zlib", ChunkCodec::gzip},
                                    {"bzip2", ChunkCodec::bzip2},
                                    {"xz", ChunkCodec::xz},
                                    {"lz4", ChunkCodec::lz4_n5},
                                    {"zstd", ChunkCodec::zstd},
                                    {"blosc", ChunkCodec::blosc}}) {
    if (type != name) continue;
    steps.push_back({codec});
    return std::nullopt;
  }
  return unsupported_source(kName, fmt::format("compression '{}'", printable(type)));
}

std::optional<Fault> named(std::optional<Fault> fault) {
  if (fault) fault->reason = std::string(kName) + ": " + fault->reason;
  return fault;
}

class N5Loader : public ChunkLoader {
 public:
  N5Loader(std::string folder, N5Array array)
      : folder_(std::move(folder)), array_(std::move(array)) {}

  void load(Chunk& out, std::span<const std::uint64_t> at) const override {
    const std::string key = fmt::format("{}", fmt::join(at.rbegin(), at.rend(), "/"));
    std::vector<std::byte> file;
    out = {};
    const std::uint64_t most = 2 * chunk_bytes(array_.grid) + (1 << 20);
    if (!read_if_exists(file, folder_, key, most, kName)) return;
    if (const auto fault = read_n5_block(out, array_, file)) {
      throw Error(*fault, {.file = join_path(folder_, key)});
    }
  }

 private:
  std::string folder_;
  N5Array array_;
};

}  // namespace

std::optional<Fault> read_n5_attributes(N5Array& out, bool& is_array, Bytes text) {
  Json json;
  if (auto fault = parse_array_json(json, text)) return named(fault);
  is_array = json.contains("dimensions");
  if (!is_array) return std::nullopt;
  ChunkGrid& grid = out.grid;
  if (auto fault = read_sides(grid.shape, json, "dimensions")) return named(fault);
  if (auto fault = read_sides(grid.chunk, json, "blockSize")) return named(fault);
  std::reverse(grid.shape.begin(), grid.shape.end());
  std::reverse(grid.chunk.begin(), grid.chunk.end());
  const std::string type = text_of(json, "dataType");
  const auto element = element_named(type);
  if (!element || type == "bool" || type == "float16" || type == "bfloat16") {
    return unsupported_source(kName, fmt::format("data type '{}'", printable(type)));
  }
  grid.element = *element;
  grid.fill.assign(element_bytes(*element), std::byte{0});
  const auto bytes = static_cast<std::uint32_t>(element_bytes(*element));
  if (bytes > 1) out.steps.push_back({ChunkCodec::swap_bytes, bytes});
  const char* const compression = json.contains("compression") ? "compression" : "compressionType";
  if (auto fault = add_codec(out.steps, text_of(json, compression))) return fault;
  return named(check_grid(grid));
}

// Format: two 16-bit words (kind, axes), the sides of the block in N5's order, then the elements.
std::optional<Fault> read_n5_block(Chunk& out, const N5Array& array, Bytes file) {
  const std::size_t axes = array.grid.shape.size();
  if (file.size() < 4 + 4 * axes) return damaged_source(kName, "the block's head is cut off", 0);
  const auto kind = load_big<std::uint16_t>(file.data());
  if (kind != 0) return unsupported_source(kName, fmt::format("blocks of kind {}", kind));
  if (load_big<std::uint16_t>(file.data() + 2) != axes) {
    return damaged_source(kName, "the block has another number of axes than the array", 2);
  }
  out.shape.resize(axes);
  for (std::size_t a = 0; a < axes; ++a) {
    const std::size_t at = 4 + 4 * (axes - 1 - a);
    out.shape[a] = load_big<std::uint32_t>(file.data() + at);
    if (out.shape[a] == 0 || out.shape[a] > array.grid.chunk[a]) {
      return damaged_source(
          kName,
          fmt::format("a side of {}, blocks have 1 to {}", out.shape[a], array.grid.chunk[a]), at);
    }
  }
  out.bytes.resize(*array_bytes({array.grid.element, out.shape}));
  const std::size_t head = 4 + 4 * axes;
  auto fault = undo_steps(out.bytes, file.subspan(head), array.steps);
  if (fault) fault->offset += head;
  return named(fault);
}

std::shared_ptr<const Source> open_n5(const std::string& path, const SourceOptions& options) {
  constexpr std::array kMetadata = {"attributes.json"};
  std::vector<NamedArray> arrays;
  std::vector<std::string> lost_arrays;
  walk_arrays(path, [&](const std::string& folder, const std::string& name) {
    std::vector<std::byte> text;
    if (!read_if_exists(text, folder, kMetadata[0], kMaxArrayJson, kName)) {
      const bool lost = !name.empty() && has_chunks_alone(folder, kMetadata);
      if (lost) lost_arrays.push_back(name);
      return lost;
    }
    N5Array array;
    bool is_array = false;
    if (const auto fault = read_n5_attributes(array, is_array, text)) {
      throw Error(*fault, {.file = join_path(folder, kMetadata[0])});
    }
    if (!is_array) return false;
    const ChunkGrid grid = array.grid;
    arrays.push_back({.name = name.empty() ? own_name(path) : name,
                      .array = std::make_shared<ChunkedArray>(
                          grid, std::make_unique<N5Loader>(folder, std::move(array))),
                      .max_missing_chunks = kMaxMissingChunks});
    return true;
  });
  limit_samples(arrays, path);
  return open_chunked_arrays("n5", path, std::move(arrays), options,
                             warnings_of_lost(lost_arrays, "attributes.json"));
}

}  // namespace tundish
