// Packs with correct checksums whose lanes records claim gigabytes when their JPEGs are restored.
#include <doctest/doctest.h>

#include "codec/lanes/jpeg_maker.h"
#include "codec/lanes/transcode.h"
#include "data/pack/open.h"
#include "data/pack/test_pack.h"

namespace tundish {
namespace {

// Two images, one a JPEG with some kilobytes of stored restore data, because its comment cannot be
// compressed.
FileBytes pack_of_jpeg() {
  Random random({.seed = 1}, 0);
  std::string comment(1000, ' ');
  for (char& c : comment) c = static_cast<char>(random.next());
  MemorySource source;
  source.schema_ = {{{"image", FieldType::image}}, {}, "test"};
  source.items.push_back({.key = "a.jpg", .fields = {lanes::make_jpeg({.comment = comment})}});
  source.items.push_back({.key = "b.npy", .fields = {npy_image(2, 2, random)}});
  FileBytes out = bytes_of_pack(source, {.max_growth = 10});
  REQUIRE(open_bytes(out)->info(0).codec == Codec::lanes);
  return out;
}

Section restore_of(const Pack& pack) {
  Extent image;
  REQUIRE(pack.extent(0, 0, image));
  return {image.offset + image.bytes + kCrcBytes, pack.restore_bytes(0)};
}

// Replaces the restore data of the record. The remaining bytes become a frame that zstd
// skips.
void replace_restore(FileBytes& pack, const std::vector<std::byte>& restore) {
  constexpr std::size_t kSkipHead = 8;
  const auto opened = open_bytes(pack);
  const Section place = restore_of(*opened);
  lanes::Coefficients image;
  Extent record;
  REQUIRE(opened->extent(0, 0, record));
  lanes::Decoder decoder;
  REQUIRE_FALSE(
      decoder.decode(image, Bytes(pack).subspan(record.offset, record.bytes), *opened->tables(0)));
  std::vector<std::byte> stored =
      lanes::compress_restore(restore, image.quantization, image.geometry.components);
  REQUIRE(stored.size() + kSkipHead <= place.bytes);
  const std::size_t skip_at = stored.size();
  stored.resize(place.bytes);
  store(stored.data() + skip_at, std::uint32_t{0x184d2a50});
  store(stored.data() + skip_at + 4, static_cast<std::uint32_t>(place.bytes - skip_at - kSkipHead));
  std::copy(stored.begin(), stored.end(), pack.begin() + static_cast<std::ptrdiff_t>(place.offset));
  store(pack.data() + place.offset + place.bytes, piece_crc(0, kRestorePiece, stored));
}

void check_refused(const FileBytes& pack, ErrorCode code, std::uint64_t offset,
                   const std::string& reason, const Limits& limits = {}) {
  Sample sample;
  try {
    open_bytes(pack)->read_original(sample, 0, kAllFields, limits);
    FAIL("it was restored");
  } catch (const SampleError& error) {
    CHECK(error.code() == code);
    CHECK(error.where().file == "test.tnd");
    CHECK(error.where().record == 0);
    CHECK(error.where().key == "a.jpg");
    CHECK(error.where().offset == offset);
    CHECK(error.reason().find(reason) != std::string::npos);
    CHECK(std::string(error.what()).find("TND-") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("a small pack that asks for a million blocks beyond the edge is refused") {
  FileBytes pack = pack_of_jpeg();
  std::vector<std::byte> restore(2 << 20);  // two bytes each: a block of zeros
  restore[0] = std::byte{1};                // edges of component 0
  restore[1] = restore[2] = std::byte{0x80};
  restore[3] = std::byte{0x3f};  // 63 << 14 blocks, 132 MB
  replace_restore(pack, restore);
  CHECK(pack.size() < 8192);
  check_refused(pack, ErrorCode::image_damaged, restore_of(*open_bytes(pack)).offset,
                "1,032,192 blocks beyond the edge");
}

TEST_CASE("limits hold when a JPEG is restored from a pack, and when it is packed again") {
  const FileBytes pack_bytes = pack_of_jpeg();
  const auto opened = open_bytes(pack_bytes);
  Sample sample;
  opened->read_original(sample, 0);
  CHECK(sample.fields[0].size() > 1000);
  check_refused(pack_bytes, ErrorCode::image_too_large, opened->record_offset(0), "40 x 30 pixels",
                {.max_pixels = 1199});
  check_refused(pack_bytes, ErrorCode::image_too_large, restore_of(*opened).offset,
                "restore data of", {.max_bytes = 1000});

  const TemporaryFolder folder;
  const auto file = open_source(folder.write(
      "test.tnd", {reinterpret_cast<const char*>(pack_bytes.data()), pack_bytes.size()}));
  const PackReport report = pack(folder / "again.tnd", *file, {.limits = {.max_pixels = 1199}});
  REQUIRE(report.refused.size() == 1);
  CHECK(report.refused[0].code == ErrorCode::image_too_large);
}

TEST_CASE("a record whose head claims more pixels than the limits allow is not decoded") {
  FileBytes pack = pack_of_jpeg();
  const std::uint64_t record = open_bytes(pack)->record_offset(0);
  poke(pack, record + 3, std::uint32_t{0xffffffff});  // 65,535 x 65,535 pixels
  CHECK(open_bytes(pack)->count() == 2);              // opening reads no record
  check_refused(pack, ErrorCode::image_too_large, record, "178,956,970 pixels");
}

}  // namespace tundish
