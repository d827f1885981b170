#include "data/source/formats/chunked/zarr_metadata.h"

#include <doctest/doctest.h>

#include <string>

#include "data/source/formats/chunked/n5.h"

namespace tundish {
namespace {

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string version_2(const std::string& more) {
  return R"({"zarr_format": 2, "shape": [10, 4], "chunks": [3, 4], "order": "C", )" + more + "}";
}

std::string version_3(const std::string& codecs) {
  return R"({"zarr_format": 3, "node_type": "array", "shape": [10, 4], "data_type": "uint16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "codecs": )" +
         codecs + "}";
}

std::string reason_2(const std::string& more) {
  ZarrArray out;
  const auto fault = read_zarr_2(out, bytes_of(version_2(more)));
  return fault ? fault->reason : "";
}

std::string reason_3(const std::string& codecs) {
  ZarrArray out;
  bool is_array = false;
  const auto fault = read_zarr_3(out, is_array, bytes_of(version_3(codecs)));
  return fault ? fault->reason : "";
}

TEST_CASE("a .zarray is read") {
  ZarrArray out;
  CHECK_FALSE(
      read_zarr_2(out, bytes_of(version_2(
                           R"("dtype": ">i4", "fill_value": -2, "compressor": {"id": "blosc"},
                                      "filters": [{"id": "shuffle", "elementsize": 4}])"))));
  CHECK(out.grid.element == ArrayElement::int32);
  CHECK(load<std::int32_t>(out.grid.fill.data()) == -2);
  CHECK(out.steps == std::vector<ChunkStep>{{ChunkCodec::swap_bytes, 4},
                                            {ChunkCodec::shuffle, 4},
                                            {ChunkCodec::blosc}});
  const std::uint64_t at[] = {3, 0};
  CHECK(zarr_key(out, at) == "3.0");
}

TEST_CASE("what of a .zarray is not read is named") {
  CHECK(reason_2(R"("dtype": "<M8[ns]")") == "Zarr 2: dtype '<M8[ns]'");
  CHECK(reason_2(R"("dtype": "|u1", "filters": [{"id": "delta"}])") == "Zarr 2: filter 'delta'");
  CHECK(reason_2(R"("dtype": "|u1", "compressor": {"id": "snappy"})") ==
        "Zarr 2: compressor 'snappy'");
  CHECK(reason_2(R"("dtype": "|u1", "chunks": [3, -1])") ==
        "Zarr 2: 'chunks' has something else than whole numbers");
  CHECK(reason_2(R"("dtype": "|u1", "chunks": [0, 4])") == "Zarr 2: a chunk has no elements");
  CHECK(reason_2(R"("dtype": "|u1", "chunks": [9999999999, 4])") ==
        "Zarr 2: chunks of more than 268435456 bytes");
  ZarrArray out;
  CHECK(read_zarr_2(out, bytes_of(std::string(100000, '[')))->reason ==
        "Zarr 2: the JSON is nested too deeply");
  CHECK(read_zarr_2(out, bytes_of("[1]"))->reason == "Zarr 2: this is no JSON object");
}

TEST_CASE("codecs of a zarr.json are read, or named") {
  CHECK(reason_3(R"([{"name": "bytes"}, {"name": "zstd"}, {"name": "crc32c"}])") == "");
  CHECK(reason_3(R"([{"name": "bytes"}, {"name": "numcodecs.lzma"}])") ==
        "Zarr 3: codec 'numcodecs.lzma'");
  CHECK(reason_3(R"([{"name": "bytes"}, {"name": "zstd"}, {"name": "gzip"}])") ==
        "Zarr 3: two compressors, one after the other");
  CHECK(reason_3(R"([{"name": "transpose", "configuration": {"order": [1, 1]}}])") ==
        "Zarr 3: the order of the axes is none");
  CHECK(reason_3(R"([{"name": "sharding_indexed", "configuration": {"chunk_shape": [3, 4],
                      "codecs": [], "index_codecs": [{"name": "bytes"}]}}])") ==
        "Zarr 3: a shard has no whole number of chunks");
}

TEST_CASE("blocks of N5 with heads that lie are refused") {
  N5Array array;
  bool is_array = false;
  CHECK_FALSE(read_n5_attributes(array, is_array, bytes_of(R"({"n5": "4.0.0"})")));
  CHECK_FALSE(is_array);
  CHECK_FALSE(read_n5_attributes(array, is_array, bytes_of(R"({"dimensions": [4, 10],
      "blockSize": [4, 3], "dataType": "uint16", "compression": {"type": "raw"}})")));
  CHECK(is_array);
  CHECK(array.grid.shape == std::vector<std::uint64_t>{10, 4});
  std::string block("\0\0\0\2\0\0\0\4\0\0\0\1", 12);
  block += std::string("\1\2\0\3\0\4\0\5", 8);
  Chunk chunk;
  CHECK_FALSE(read_n5_block(chunk, array, bytes_of(block)));
  CHECK(chunk.shape == std::vector<std::uint64_t>{1, 4});
  CHECK(load<std::uint16_t>(chunk.bytes.data()) == 0x0102);
  CHECK(read_n5_block(chunk, array, bytes_of(block.substr(0, 19)))->offset == 12);
  CHECK(read_n5_block(chunk, array, bytes_of(block.substr(0, 11)))->reason ==
        "N5: the block's head is cut off");
  block[7] = 5;
  CHECK(read_n5_block(chunk, array, bytes_of(block))->reason ==
        "N5: a side of 5, blocks have 1 to 4");
  block[1] = 1;
  CHECK(read_n5_block(chunk, array, bytes_of(block))->code == ErrorCode::format_unsupported);
}

}  // namespace
TEST_CASE("fill values of float16 are rounded to the nearest value") {
  const std::pair<const char*, std::uint16_t> kValues[] = {
      {"0.1", 0x2e66},       {"0.3333", 0x3555}, {"1e-7", 0x0002},    {"3e-8", 0x0001},
      {"2e-8", 0x0000},      {"-1", 0xbc00},     {"65519.9", 0x7bff}, {"65520", 0x7c00},
      {"6.1035e-5", 0x0400}, {"2049", 0x6800},   {"2051", 0x6802},    {"0", 0x0000}};
  for (const auto& [text, bits] : kValues) {
    CAPTURE(text);
    ZarrArray out;
    const std::string more = std::string(R"("dtype": "<f2", "fill_value": )") + text;
    REQUIRE_FALSE(read_zarr_2(out, bytes_of(version_2(more))));
    CHECK(load<std::uint16_t>(out.grid.fill.data()) == bits);
  }
}

TEST_CASE("members that no array needs are skipped, and too many values are refused") {
  const std::string type = R"("dtype": "<f2", )";
  std::string values = "[0";
  for (int i = 0; i < 10'000; ++i) values += ", {}";
  values += "]";
  ZarrArray out;
  CHECK_FALSE(read_zarr_2(out, bytes_of(version_2(type + "\"attributes\": " + values))));
  CHECK(out.grid.shape == std::vector<std::uint64_t>{10, 4});
  CHECK(reason_2(type + "\"filters\": " + values) == "Zarr 2: the JSON has too many values");
}

}  // namespace tundish
