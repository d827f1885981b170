#include "data/source/formats/chunked/hdf5_index.h"

#include <doctest/doctest.h>

#include "base/testing.h"

namespace tundish {
namespace {

Hdf5Description description_of(std::vector<Hdf5Array> arrays) {
  return {.arrays = std::move(arrays), .omissions = {{"far", "in another file", true}}};
}

std::vector<Hdf5Array> arrays() {
  Hdf5Array image{
      .name = "train/image", .grid = {}, .kind = Hdf5Kind::big_endian, .filters = {}, .chunks = {}};
  image.grid = {.element = ArrayElement::uint16,
                .shape = {10, 4},
                .chunk = {3, 4},
                .stored_axes = {},
                .fill = std::vector<std::byte>(2)};
  image.filters = {{2, 2}, {1, 4}, {3, 0}};
  image.chunks = {{0, 100, 24, 0}, {2, 124, 20, 2}};
  return {image, image};
}

std::string reason(const std::vector<Hdf5Array>& wrong, std::uint64_t size = 1000) {
  Hdf5Description out;
  const auto fault = read_hdf5_index(out, write_hdf5_index(description_of(wrong)), size);
  return fault ? fault->reason : "";
}

TEST_CASE("a description of an HDF5 file is read as it was written") {
  Hdf5Description read;
  REQUIRE_FALSE(read_hdf5_index(read, write_hdf5_index(description_of(arrays())), 1000));
  REQUIRE(read.omissions.size() == 1);
  CHECK(read.omissions[0].name == "far");
  CHECK(read.omissions[0].reason == "in another file");
  CHECK(read.omissions[0].is_elsewhere);
  const std::vector<Hdf5Array>& out = read.arrays;
  REQUIRE(out.size() == 2);
  CHECK(out[1].name == "train/image");
  CHECK(out[1].grid.shape == std::vector<std::uint64_t>{10, 4});
  CHECK(out[1].chunks[1].offset == 124);
  CHECK(out[1].chunks[1].mask == 2);
  std::vector<ChunkStep> steps;
  REQUIRE_FALSE(hdf5_steps(steps, out[0], 0));
  CHECK(steps == std::vector<ChunkStep>{{ChunkCodec::swap_bytes, 2},
                                        {ChunkCodec::shuffle, 2},
                                        {ChunkCodec::gzip, 2},
                                        {ChunkCodec::fletcher32, 2}});
  REQUIRE_FALSE(hdf5_steps(steps, out[0], 2));
  CHECK(steps.size() == 3);
}

TEST_CASE("a description of an HDF5 file that lies is refused") {
  CHECK(reason(arrays(), 143) == "HDF5: a chunk leads out of the file");
  auto wrong = arrays();
  wrong[0].chunks[1].number = 0;
  CHECK(reason(wrong) == "HDF5: the chunks are in disorder");
  wrong = arrays();
  wrong[0].chunks[1].number = 4;
  CHECK(reason(wrong) == "HDF5: the chunks are in disorder");
  wrong = arrays();
  wrong[0].chunks[0].offset = ~0ull;
  CHECK(reason(wrong) == "HDF5: a chunk leads out of the file");
  wrong = arrays();
  wrong[0].grid.chunk[0] = 0;
  CHECK(reason(wrong) == "HDF5: train/image: a chunk has no elements");
  wrong = arrays();
  wrong[0].filters[0].id = 32008;
  std::vector<ChunkStep> steps;
  CHECK(hdf5_steps(steps, wrong[0], 0)->reason == "HDF5: train/image: filter 32008");
  const auto whole = write_hdf5_index(description_of(arrays()));
  Hdf5Description out;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(read_hdf5_index(out, Bytes(whole).first(size), 1000));
  }
}

}  // namespace
}  // namespace tundish
