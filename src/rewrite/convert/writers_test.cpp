// Tests writer parts that need no source: heads of .npy files and archives, LMDB's tree.
#include "rewrite/convert/formats/writers.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/temporary_folder.h"
#include "data/source/arrays/npy_layout.h"
#include "data/source/formats/tar/tar_reader.h"
#include "data/source/memory_stream.h"
#include "rewrite/convert/formats/lmdb_tree_writer.h"
#include "rewrite/convert/formats/tar_header.h"
#include "rewrite/convert/npy_elements.h"
#include "rewrite/convert/output_stream.h"

namespace tundish {
namespace {

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST_CASE("a head of a .npy file keeps its length for any number of samples") {
  const std::size_t length = npy_head({ArrayElement::float32, {99'999'999'999, 3, 5}}).size();
  for (const std::uint64_t count : {0ull, 7ull, 123'456ull, 99'999'999'999ull}) {
    const ArrayType type{ArrayElement::float32, {count, 3, 5}};
    const std::string head = padded_npy_head(type, length);
    CHECK(head.size() == length);
    ArrayLayout layout;
    std::size_t data = 0;
    REQUIRE(!read_npy_layout(layout, data, bytes_of(head)));
    CHECK(layout.type == type);
    CHECK(data == length);
  }
  CHECK_THROWS(padded_npy_head({ArrayElement::float32, {1}}, 64));
}

TEST_CASE("names of any length come back from an archive") {
  for (const std::size_t length : {1u, 99u, 100u, 101u, 255u, 990u, 3990u}) {
    const std::string name(length, 'n');
    std::string archive = tar_comment("text") + tar_file_head(name, 3) + "abc";
    archive += std::string(tar_padding(3) + 2 * kTarBlock, '\0');
    MemoryStream stream(bytes_of(archive));
    TarReader reader(stream);
    TarMember member;
    REQUIRE(reader.next(member));
    CHECK(member.name == name);
    CHECK(member.size == 3);
    CHECK(!reader.next(member));
    CHECK(!reader.fault());
  }
}

TEST_CASE("keys of LMDB must ascend and fit") {
  const TemporaryFolder folder;
  OutputStream out(folder.path() + "/data.mdb", false);
  LmdbTreeWriter tree(out);
  tree.add("b", "1");
  CHECK_THROWS(tree.add("b", "2"));
  CHECK_THROWS(tree.add("a", "2"));
  CHECK_THROWS(tree.add("", "2"));
  CHECK_THROWS(tree.add(std::string(kMaxLmdbKey + 1, 'c'), "2"));
  tree.add(std::string(kMaxLmdbKey, 'c'), "2");
  tree.finish();
  CHECK(out.offset() == 3 * 4096);
}

TEST_CASE("arrays that no image can have are refused as images") {
  const Sample sample;
  const auto code_of = [&](FieldType type, ArrayType array, std::size_t bytes) {
    try {
      check_elements({.name = "x", .type = type, .array = std::move(array)}, {.data = sample},
                     std::vector<std::byte>(bytes));
    } catch (const SampleError& error) {
      return error.code();
    }
    return ErrorCode::none;
  };
  CHECK(code_of(FieldType::image, {ArrayElement::uint8, {2, 4, 3}}, 24) == ErrorCode::none);
  CHECK(code_of(FieldType::image, {ArrayElement::uint8, {2, 2, 2, 2}}, 16) ==
        ErrorCode::image_kind);
  CHECK(code_of(FieldType::image, {ArrayElement::uint8, {}}, 1) == ErrorCode::image_kind);
  CHECK(code_of(FieldType::image, {ArrayElement::float32, {2, 2}}, 16) == ErrorCode::image_kind);
  CHECK(code_of(FieldType::image, {ArrayElement::uint8, {2, 0}}, 0) != ErrorCode::none);
  CHECK(code_of(FieldType::image, {ArrayElement::uint8, {2, 4}}, 7) != ErrorCode::none);
  CHECK(code_of(FieldType::array, {ArrayElement::uint8, {2, 2, 2, 2}}, 16) == ErrorCode::none);
  CHECK(code_of(FieldType::array, {ArrayElement::uint8, {2, 2}}, 5) == ErrorCode::image_damaged);
}

TEST_CASE("a stream that is not committed leaves nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  {
    OutputStream(path, false).write("text");
  }
  CHECK(!std::ifstream(path));
  OutputStream out(path, false);
  out.write(std::string(3 << 20, 'a'));
  out.write("b");
  out.rewrite(bytes_of("xy"), 1);
  out.commit();
  std::ifstream in(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(in), {}};
  CHECK(found == "axy" + std::string((3 << 20) - 3, 'a') + "b");
}

}  // namespace
}  // namespace tundish
