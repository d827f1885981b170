#include "data/pack/reader.h"

#include <doctest/doctest.h>

#include <fstream>

#include "data/pack/open.h"
#include "data/pack/test_pack.h"

namespace tundish {
namespace {

MemorySource every_field_type() {
  MemorySource source;
  source.schema_ = {{{"caption", FieldType::text},
                     {"image", FieldType::image},
                     {"raw", FieldType::bytes},
                     {"label", FieldType::label},
                     {"score", FieldType::number},
                     {"boxes", FieldType::array}},
                    {"cat", "d\xffg"},
                    "test"};
  for (std::uint64_t i = 0; i < 2500; ++i) {
    Random random({.seed = 7, .sample = i}, 0);
    source.items.push_back({"dir/" + std::string(i % 7, '\n') + "\xff" + std::to_string(i),
                            static_cast<std::int64_t>(random.next()),
                            {random_bytes(random.below(20), random),
                             npy_image(3 + static_cast<int>(i % 5), 4, random),
                             random_bytes(random.below(3), random),
                             {},
                             random_bytes(8, random),
                             npy_image(2, 2, random)}});
  }
  return source;
}

FileBytes small_pack() {
  static const FileBytes bytes = bytes_of_pack(image_source(5, 9));
  return bytes;
}

}  // namespace

TEST_CASE("what was packed is read back: every field type, key, label and size") {
  const MemorySource source = every_field_type();
  const FileBytes bytes = bytes_of_pack(source);
  const auto pack = open_bytes(bytes);
  REQUIRE(pack->count() == source.count());
  CHECK(pack->schema().fields == source.schema().fields);
  CHECK(pack->schema().classes == source.schema().classes);
  CHECK(pack->schema().source == "test");
  CHECK(pack->file_bytes() == bytes.size());
  CHECK(verify_errors(*pack).empty());
  Sample sample;
  for (std::uint64_t i = 0; i < pack->count(); ++i) {
    const MemorySource::Item& item = source.items[i];
    REQUIRE(pack->key(i) == item.key);
    const SampleInfo info = pack->info(i);
    REQUIRE(info.label == item.label);
    REQUIRE(info.codec == Codec::npy);
    REQUIRE(info.width == 3 + i % 5);
    REQUIRE(info.height == 4);
    REQUIRE(pack->bytes(i) == source.bytes(i));
    pack->read(sample, i);
    REQUIRE(sample.fields == item.fields);
    REQUIRE(pack->record_offset(i) % pack->alignment() == 0);
  }
}

TEST_CASE("only the fields asked for are read") {
  const MemorySource source = every_field_type();
  const FileBytes bytes = bytes_of_pack(source);
  const auto pack = open_bytes(bytes);
  Sample sample;
  pack->read(sample, 3);
  pack->read(sample, 4, FieldSet{1} << 1 | FieldSet{1} << 4);
  CHECK(sample.fields[0].empty());
  CHECK(sample.fields[1] == source.items[4].fields[1]);
  CHECK(sample.fields[2].empty());
  CHECK(sample.fields[4] == source.items[4].fields[4]);
  CHECK(sample.fields[5].empty());
}

TEST_CASE("an extent is the position of a field in the file") {
  const MemorySource source = every_field_type();
  const FileBytes bytes = bytes_of_pack(source);
  const auto pack = open_bytes(bytes);
  Extent extent;
  REQUIRE(pack->extent(17, 5, extent));
  const Bytes part = Bytes(bytes).subspan(extent.offset, extent.bytes);
  CHECK(FileBytes(part.begin(), part.end()) == source.items[17].fields[5]);
  CHECK(extent.bytes == pack->field_bytes(17, 5));
  CHECK_FALSE(pack->extent(17, 3, extent));  // a label has no bytes
}

TEST_CASE("a missing record is named") {
  const FileBytes bytes = small_pack();
  const auto pack = open_bytes(bytes);
  Sample sample;
  CHECK_THROWS_WITH_AS(pack->read(sample, 5), doctest::Contains("there are 5, counted from 0"),
                       Error);
  CHECK_THROWS_AS(pack->info(~std::uint64_t{0}), Error);
  CHECK_THROWS_AS(pack->key(5), Error);
}

TEST_CASE("a damaged record names file, record, key and offset; the others stay readable") {
  FileBytes bytes = small_pack();
  const std::uint64_t offset = open_bytes(bytes)->record_offset(2);
  bytes[offset + 70] ^= std::byte{4};
  const auto pack = open_bytes(bytes);
  Sample sample;
  pack->read(sample, 1);
  pack->read(sample, 3);
  try {
    pack->read(sample, 2);
    FAIL("the damage was not found");
  } catch (const SampleError& error) {
    CHECK(error.code() == ErrorCode::record_checksum);
    CHECK(error.where().file == "test.tnd");
    CHECK(*error.where().record == 2);
    CHECK(error.where().key == "cat/2.npy");
    CHECK(*error.where().offset == offset);
    CHECK(error.reason().starts_with("field image: stored "));
  }
  const std::vector<Error> errors = verify_errors(*pack);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].code() == ErrorCode::record_checksum);
  CHECK(*errors[0].where().record == 2);
}

TEST_CASE("two records that changed places are found") {
  MemorySource source = image_source(2, 9);
  Random random({}, 0);
  for (MemorySource::Item& item : source.items) item.fields[0] = npy_image(4, 4, random);
  FileBytes bytes = bytes_of_pack(source);
  const auto pack = open_bytes(bytes);
  const std::uint64_t length = pack->bytes(0) + kCrcBytes;
  std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(pack->record_offset(0)),
                   bytes.begin() + static_cast<std::ptrdiff_t>(pack->record_offset(0) + length),
                   bytes.begin() + static_cast<std::ptrdiff_t>(pack->record_offset(1)));
  CHECK(verify_errors(*open_bytes(bytes)).size() == 2);
}

TEST_CASE("a file that shrank after it was opened gives an error, not a crash") {
  const TemporaryFolder folder;
  pack(folder / "a.tnd", image_source(5, 30));
  const auto opened = Pack::open(folder / "a.tnd");
  std::filesystem::resize_file(folder / "a.tnd", 100);
  Sample sample;
  try {
    opened->read(sample, 4);
    FAIL("the damage was not found");
  } catch (const SampleError& error) {
    CHECK(error.code() == ErrorCode::record_cut_off);
  }
  CHECK(verify_errors(*opened).size() > 5);
}

TEST_CASE("a file that is no pack and a pack cut short give different errors") {
  const FileBytes bytes = small_pack();
  const auto first = [&](std::size_t count) { return Bytes(bytes).first(count); };
  CHECK(open_code({}) == ErrorCode::not_a_pack);
  CHECK(open_code(bytes_of("\xff\xd8 a JPEG")) == ErrorCode::not_a_pack);
  CHECK(open_code(first(7)) == ErrorCode::incomplete);
  CHECK(open_code(first(63)) == ErrorCode::incomplete);
  CHECK(open_code(first(64)) == ErrorCode::incomplete);
  CHECK(open_code(first(bytes.size() - 1)) == ErrorCode::incomplete);
  FileBytes longer = bytes;
  longer.push_back(std::byte{0});
  CHECK(open_code(longer) == ErrorCode::incomplete);
  CHECK_THROWS_WITH_AS(Pack::open("/no/such/file.tnd"), doctest::Contains("TND-301"), Error);
}

TEST_CASE("an unknown version and unknown incompatible features are refused, compatible ones not") {
  FileBytes bytes = small_pack();
  poke(bytes, 8, std::uint32_t{2});
  seal(bytes);
  CHECK(open_code(bytes) == ErrorCode::unknown_version);

  for (int bit = 0; bit < 64; ++bit) {
    bytes = small_pack();
    poke(bytes, 16, std::uint64_t{1} << bit);
    seal(bytes);
    // Known bits: 0 (lanes) and 3 (arrays). This pack has no tables and no arrays.
    CHECK(open_code(bytes) ==
          (bit == 0 || bit == 3 ? ErrorCode::metadata_damaged : ErrorCode::unknown_feature));
    bytes = small_pack();
    poke(bytes, 24, std::uint64_t{1} << bit);
    seal(bytes);
    CHECK(open_code(bytes) == ErrorCode::none);
  }
}

TEST_CASE("a version changed by one damaged byte is reported as damage") {
  FileBytes bytes = small_pack();
  poke(bytes, 8, std::uint32_t{3});
  CHECK(open_code(bytes) == ErrorCode::head_damaged);
}

TEST_CASE("wrong values with correct checksums are found before memory is taken") {
  const std::uint64_t huge = ~std::uint64_t{0};
  const FileBytes good = small_pack();
  const std::size_t tail = good.size() - kTailBytes;
  const std::size_t index = peek_tail(good, 72);
  const auto with_value = [&](std::size_t offset, auto value) {
    FileBytes bytes = good;
    poke(bytes, offset, value);
    seal(bytes);
    return open_code(bytes);
  };
  // The tail: file length, record count, each section's offset and length.
  CHECK(with_value(tail + 8, good.size() + 1) == ErrorCode::tail_damaged);
  for (const std::uint64_t count : {huge, huge / 26, huge / 18, std::uint64_t{1} << 40,
                                    std::uint64_t{6}, std::uint64_t{4}, std::uint64_t{0}}) {
    CHECK(with_value(tail + 16, count) == ErrorCode::index_damaged);
  }
  for (std::size_t entry = 24; entry < 88; entry += 8) {
    for (const std::uint64_t value : {huge, huge - 7, huge / 2, std::uint64_t{0}, std::uint64_t{64},
                                      std::uint64_t{good.size()}, peek_tail(good, entry) + 8}) {
      if (value != peek_tail(good, entry))
        CHECK(with_value(tail + entry, value) == ErrorCode::tail_damaged);
    }
  }
  // The index: lengths of records, bytes of the block of names, sizes, orientation.
  for (std::size_t record = 0; record < 5; ++record) {
    const auto length = load<std::uint64_t>(good.data() + index + 8 * record);
    for (const std::uint64_t value : {huge, huge - 3, huge - length, huge / 2, length + 64,
                                      length - 64, std::uint64_t{good.size()}}) {
      CHECK(with_value(index + 8 * record, value) == ErrorCode::index_damaged);
    }
  }
  const std::size_t names = index + 5 * 16;
  CHECK(with_value(names, huge) == ErrorCode::index_damaged);
  CHECK(with_value(names, std::uint64_t{0}) == ErrorCode::index_damaged);
  CHECK(with_value(names + 8, huge) == ErrorCode::index_damaged);  // a width
  CHECK(with_value(good.size() - kTailBytes - 10, huge) !=
        ErrorCode::none);  // orientations, checksum
  // The head: alignment, pack id.
  for (const std::uint32_t alignment : {0u, 1u, 12u, 1u << 31}) {
    CHECK(with_value(12, alignment) == ErrorCode::head_damaged);
  }
  CHECK(with_value(12, std::uint32_t{128}) == ErrorCode::index_damaged);
  CHECK(with_value(32, huge) == ErrorCode::tail_damaged);
}

TEST_CASE("a sparse file that claims two to the forty records takes no memory") {
  // The file is large enough for its claims; only the length of the index reveals the fault.
  FileBytes bytes = small_pack();
  const std::size_t tail = bytes.size() - kTailBytes;
  poke(bytes, tail + 16, std::uint64_t{1} << 40);
  seal(bytes);
  CHECK(open_code(bytes) == ErrorCode::index_damaged);
}

// A pack with `hole` zeros before its metadata, as in a sparse file.
class WithHole : public ByteFile {
 public:
  WithHole(const FileBytes& bytes, std::uint64_t at, std::uint64_t hole)
      : bytes_(bytes), at_(at), hole_(hole) {}
  std::uint64_t size() const override { return bytes_.size() + hole_; }
  const std::string& path() const override { return path_; }
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const override {
    for (std::size_t i = 0; i < out.size(); ++i, ++offset) {
      if (offset >= size()) return i;
      const bool hole = offset >= at_ && offset - at_ < hole_;
      out[i] = hole ? std::byte{0} : bytes_[offset < at_ ? offset : offset - hole_];
    }
    return out.size();
  }

 private:
  const FileBytes& bytes_;
  std::uint64_t at_, hole_;
  std::string path_ = "sparse.tnd";
};

TEST_CASE("a record that claims tens of gigabytes of a sparse file takes no memory") {
  constexpr std::uint64_t kHole = 40ull << 30;
  FileBytes bytes = small_pack();
  const std::size_t tail = bytes.size() - kTailBytes;
  const std::uint64_t metadata = peek_tail(bytes, 24);
  const std::size_t last_length = peek_tail(bytes, 72) + 8 * 4;
  poke(bytes, last_length, load<std::uint64_t>(bytes.data() + last_length) + kHole);
  seal(bytes);  // before the sections move, because seal() searches for them
  for (std::size_t entry = 24; entry < 88; entry += 16) {
    poke(bytes, tail + entry, peek_tail(bytes, entry) + kHole);
  }
  poke(bytes, tail + 8, bytes.size() + kHole);
  poke(bytes, tail + 124, piece_crc(kNoRecord, kTailPiece, Bytes(bytes).subspan(tail, 124)));
  const auto pack = Pack::open(std::make_unique<WithHole>(bytes, metadata, kHole));
  Sample sample;
  pack->read(sample, 3);
  try {
    pack->read(sample, 4);
    FAIL("it was read");
  } catch (const SampleError& error) {
    CHECK(error.code() == ErrorCode::image_too_large);
    CHECK(error.where().key == "cat/4.npy");
  }
}

TEST_CASE("open_source knows a pack by its first bytes or its name") {
  const TemporaryFolder folder;
  pack(folder / "a.tnd", image_source(3, 9));
  std::filesystem::copy(folder / "a.tnd", folder / "renamed");
  CHECK(open_source(folder / "a.tnd")->count() == 3);
  CHECK(open_source(folder / "renamed")->count() == 3);
  folder.write("text.tnd", "hello");
  CHECK_THROWS_WITH_AS(open_source(folder / "text.tnd"), doctest::Contains("TND-101"), Error);
  CHECK_THROWS_WITH_AS(open_source(folder / "none.tnd"), doctest::Contains("TND-301"), Error);
}

}  // namespace tundish
