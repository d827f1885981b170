// N5: a folder with attributes.json and a file per block. N5 stores the fastest axis first. Axes
// here are reversed, as in z5py and zarr: axis 0 is the last of "dimensions".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/chunks/chunked_array.h"
#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

std::shared_ptr<const Source> open_n5(const std::string& path, const SourceOptions& options);

// Contents of an array's attributes.json.
struct N5Array {
  ChunkGrid grid;  // checked
  std::vector<ChunkStep> steps;
};
// Sets `is_array` to false for the attributes of a group, which has no dimensions.
std::optional<Fault> read_n5_attributes(N5Array& out, bool& is_array, Bytes json);

// Reads the file of a block: head and compressed elements. Accepts any bytes.
std::optional<Fault> read_n5_block(Chunk& out, const N5Array& array, Bytes file);

}  // namespace tundish
