#include "data/pack/copy/copy_record.h"

#include <doctest/doctest.h>

#include "data/pack/manifest.h"
#include "data/pack/open.h"
#include "data/pack/test_pack.h"
#include "data/source/views/merge.h"
#include "data/source/views/selected.h"

namespace tundish {

TEST_CASE("a copied pack has the bytes of the pack, for any number of threads") {
  const TemporaryFolder folder;
  pack(folder / "a.tnd", image_source(60, 30));
  const FileBytes before = bytes_of_pack(image_source(60, 30));
  const auto source = open_source(folder / "a.tnd");
  for (const int threads : {1, 4}) {
    CHECK(bytes_of_pack(*source, {.threads = threads, .copy_records = true}) == before);
  }
  const PackReport report = pack(folder / "b.tnd", *source, {.copy_records = true});
  CHECK(report.copied == 60);
  CHECK(report.source_bytes > 0);
}

TEST_CASE("chosen records are copied as they would be packed") {
  const TemporaryFolder folder;
  const auto memory = std::make_shared<MemorySource>(image_source(30, 30));
  pack(folder / "a.tnd", *memory);
  const std::vector<std::uint64_t> numbers = {2, 3, 11, 29};
  const auto packed = select_samples(open_source(folder / "a.tnd"), numbers);
  CHECK(bytes_of_pack(*packed, {.copy_records = true}) ==
        bytes_of_pack(*select_samples(memory, numbers)));
}

TEST_CASE("merged packs hold what their sources hold") {
  const TemporaryFolder folder;
  MemorySource first = image_source(5, 30, 1), second = image_source(5, 30, 2);
  for (auto& item : second.items) item.key += "b";
  pack(folder / "a.tnd", first);
  pack(folder / "b.tnd", second);
  const Merge merge =
      merge_sources({open_source(folder / "a.tnd"), open_source(folder / "b.tnd")}, false);
  const PackReport report = pack(folder / "c.tnd", *merge.source, {.copy_records = true});
  CHECK(report.copied == 10);
  const auto merged = Pack::open(folder / "c.tnd");
  CHECK(verify_errors(*merged).empty());
  for (std::uint64_t i = 0; i < 10; ++i) {
    const MemorySource::Item& item = i < 5 ? first.items[i] : second.items[i - 5];
    Sample sample;
    merged->read(sample, i);
    CHECK(sample.fields == item.fields);
    CHECK(merged->key(i) == item.key);
    CHECK(merged->info(i).label == item.label);
  }
}

TEST_CASE("a damaged record is not copied, and is named") {
  const TemporaryFolder folder;
  FileBytes bytes = bytes_of_pack(image_source(5, 30));
  bytes[open_bytes(bytes)->record_offset(3) + 130] ^= std::byte{1};
  folder.write("a.tnd", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const PackReport report =
      pack(folder / "b.tnd", *open_source(folder / "a.tnd"), {.copy_records = true});
  CHECK(report.samples == 4);
  REQUIRE(report.refused.size() == 1);
  CHECK(report.refused[0].code == ErrorCode::record_checksum);
  CHECK(report.refused[0].key == "cat/3.npy");
}

}  // namespace tundish
