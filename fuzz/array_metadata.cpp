// Any bytes as the JSON of an array (.zarray, zarr.json, attributes.json), and as a block of N5.
// parser: src/data/source/formats/chunked/array_json.* src/data/source/formats/chunked/n5.*
// parser: src/data/source/formats/chunked/zarr_[23m]* src/data/source/chunks/chunk_grid.*
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "data/source/formats/chunked/array_json.h"
#include "data/source/formats/chunked/n5.h"
#include "data/source/formats/chunked/zarr_metadata.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

void check(const ChunkGrid& grid, const std::vector<ChunkStep>& steps) {
  require(!check_grid(grid) && chunk_bytes(grid) > 0 && steps.size() <= 2 * kMaxChunkSteps);
  for (const ChunkStep& step : steps) require(step.element > 0);
}

void try_json(Bytes bytes) {
  nlohmann::json json;
  if (parse_array_json(json, bytes)) return;  // shared first step; most inputs fail here
  ZarrArray two, three;
  if (!read_zarr_2(two, bytes)) check(two.grid, two.steps);
  bool is_array = false;
  if (!read_zarr_3(three, is_array, bytes) && is_array) check(three.grid, three.steps);
  N5Array n5;
  if (!read_n5_attributes(n5, is_array, bytes) && is_array) check(n5.grid, n5.steps);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  try_json(bytes);
  N5Array small;
  small.grid = {.element = ArrayElement::uint16,
                .shape = {8, 8},
                .chunk = {4, 4},
                .stored_axes = {},
                .fill = std::vector<std::byte>(2)};
  small.steps = {{ChunkCodec::swap_bytes, 2}};
  Chunk chunk;
  if (!read_n5_block(chunk, small, bytes)) {
    require(chunk.bytes.size() == 2 * chunk.shape[0] * chunk.shape[1] && chunk.bytes.size() <= 32);
  }
  return 0;
}
