#include "data/pack/salvage/salvage.h"

#include <doctest/doctest.h>

#include "base/testing.h"
#include "data/pack/salvage/piece_search.h"
#include "data/pack/test_pack.h"

namespace tundish {
namespace {

Salvage find(Bytes bytes, const SalvageOptions& options = {}) {
  return find_records(std::make_shared<MemoryBytes>(bytes, "torn.tnd"), options);
}

// Checks that every found record that passes its checks equals the item with its number.
std::uint64_t check_records(Bytes bytes, const Salvage& found, const MemorySource& items) {
  const auto source = salvaged_source(std::make_shared<MemoryBytes>(bytes, "torn.tnd"), found);
  std::uint64_t intact = 0;
  Sample sample;
  for (std::uint64_t i = 0; i < source->count(); ++i) {
    const FoundRecord& record = found.records[i];
    REQUIRE(record.number < items.items.size());
    const MemorySource::Item& item = items.items[record.number];
    try {
      source->read(sample, i);
    } catch (const SampleError&) {
      continue;
    }
    ++intact;
    CHECK(sample.fields[0] == item.fields[0]);
    if (!record.key_is_lost) CHECK(record.key == item.key);
    if (!record.label_is_lost && record.info.label >= 0) CHECK(record.info.label == item.label);
  }
  return intact;
}

MemorySource folder_like(std::uint64_t count) {
  MemorySource out = image_source(count, 20);
  out.schema_.source = "image folder";
  for (auto& item : out.items) {
    item.key = out.schema_.classes[static_cast<std::size_t>(item.label)] + item.key.substr(3);
  }
  return out;
}

}  // namespace

TEST_CASE("of an intact pack nothing is lost") {
  const MemorySource source = image_source(30, 20);
  const FileBytes bytes = bytes_of_pack(source);
  const Salvage found = find(bytes);
  CHECK(found.method == SalvageMethod::index);
  CHECK(found.parts.empty());
  CHECK(found.lost.empty());
  CHECK(found.count == 30);
  CHECK(check_records(bytes, found, source) == 30);
}

TEST_CASE("a pack without tail or head is read by its index") {
  const MemorySource source = image_source(1500, 3);
  const FileBytes whole = bytes_of_pack(source);
  for (const std::size_t cut : {1u, 8u, 100u, 136u}) {
    FileBytes bytes(whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(cut));
    std::fill_n(bytes.begin(), kHeadBytes, std::byte{0});
    const Salvage found = find(bytes);
    CHECK(found.method == SalvageMethod::index);
    CHECK(found.parts.size() == 2);
    CHECK(found.count == 1500);
    CHECK(check_records(bytes, found, source) == 1500);
    CHECK(found.schema.classes == source.schema_.classes);
  }
}

TEST_CASE("without an index records are found by their checksums, and labels by the folder") {
  const MemorySource source = folder_like(40);
  FileBytes bytes = bytes_of_pack(source);
  bytes[peek_tail(bytes, 72) + 9] ^= std::byte{4};
  const Salvage found = find(bytes);
  CHECK(found.method == SalvageMethod::scan);
  CHECK(found.parts.size() == 1);
  CHECK(found.lost.empty());
  REQUIRE(found.records.size() == 40);
  CHECK(check_records(bytes, found, source) == 40);
  const auto pack = open_bytes(bytes_of_pack(source));
  for (std::uint64_t i = 0; i < 40; ++i) {
    CHECK_FALSE(found.records[i].key_is_lost);
    CHECK_FALSE(found.records[i].label_is_lost);
    CHECK(found.records[i].info.label == source.items[i].label);
    CHECK(found.records[i].info.width == pack->info(i).width);
    CHECK(found.records[i].info.height == pack->info(i).height);
  }
}

TEST_CASE("a pack that is cut off keeps the records before the cut") {
  const MemorySource source = image_source(40, 20);
  const FileBytes whole = bytes_of_pack(source);
  const auto pack = open_bytes(whole);
  Random random({.seed = test_seed()}, 0);
  for (int n = 0; n < 30; ++n) {
    const std::uint64_t cut = kHeadBytes + random.below(pack->record_offset(39) - kHeadBytes);
    CAPTURE(cut);
    std::uint64_t expected = 0;
    while (expected < 39 && pack->record_offset(expected) + pack->bytes(expected) + 4 <= cut) {
      ++expected;
    }
    const Bytes bytes = Bytes(whole).first(cut);
    const Salvage found = find(bytes);
    CHECK(found.records.size() == expected);
    CHECK(check_records(bytes, found, source) == expected);
    CHECK(found.schema.fields.size() == 1);
    const Salvage with = find(bytes, {.like = pack.get()});
    CHECK(with.records.size() == expected);
    CHECK(with.schema.classes == source.schema_.classes);
  }
}

TEST_CASE("damaged records are lost, and those behind them are found without an index") {
  const MemorySource source = image_source(40, 20);
  const FileBytes whole = bytes_of_pack(source);
  const auto pack = open_bytes(whole);
  Random random({.seed = test_seed()}, 1);
  for (int n = 0; n < 20; ++n) {
    FileBytes bytes = whole;
    const std::uint64_t record = 1 + random.below(37);
    const std::uint64_t length = pack->bytes(record);
    bytes[pack->record_offset(record) + random.below(length)] ^= std::byte{0x10};
    CHECK(check_records(bytes, find(bytes), source) == 39);
    bytes[peek_tail(bytes, 72) + 9] ^= std::byte{4};
    const Salvage found = find(bytes);
    CAPTURE(record);
    CHECK(found.method == SalvageMethod::scan);
    CHECK(check_records(bytes, found, source) == 39);
    REQUIRE(found.lost.size() == 1);
    CHECK(found.lost[0].first == record);
  }
}

TEST_CASE("any damage gives records that are as they were, or none") {
  const MemorySource source = folder_like(12);
  const FileBytes whole = bytes_of_pack(source);
  Random random({.seed = test_seed()}, 2);
  for (int n = 0; n < 150; ++n) {
    FileBytes bytes = whole;
    bytes.resize(bytes.size() - (n % 3 == 0 ? random.below(bytes.size()) : 0));
    for (auto flips = random.below(6); flips > 0 && !bytes.empty(); --flips) {
      const std::uint64_t at = random.below(bytes.size());
      for (std::uint64_t k = at; k < bytes.size() && k < at + random.below(60); ++k) {
        bytes[k] ^= static_cast<std::byte>(random.next() >> 56);
      }
    }
    try {
      check_records(bytes, find(bytes), source);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::not_a_pack);
    }
  }
}

TEST_CASE("the end of a piece is where its checksum fits, as by computing every checksum anew") {
  Random random({.seed = test_seed()}, 3);
  for (int n = 0; n < 30; ++n) {
    const std::size_t length = random.below(6000);
    std::vector<std::byte> bytes = random_bytes(7, random);
    const auto payload = random_bytes(length, random);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(bytes.size() + kCrcBytes);
    store(bytes.data() + 7 + length, piece_crc(5, 2, payload));
    const auto more = random_bytes(random.below(50), random);
    bytes.insert(bytes.end(), more.begin(), more.end());
    const MemoryBytes file(bytes, "test");
    ByteWindow window(file);
    const std::vector<std::uint64_t> records = {4, 5, 6};
    const auto all = [](const PieceEnd&) { return true; };
    const auto end = find_piece_end(window, 7, 2, records, 6000, all);
    REQUIRE(end);
    std::size_t slowly = 0;  // reference: first length whose checksum fits a record
    const auto fits = [&](std::size_t at) {
      const auto stored = load<std::uint32_t>(bytes.data() + 7 + at);
      return std::any_of(records.begin(), records.end(), [&](std::uint64_t record) {
        return piece_crc(record, 2, Bytes(bytes).subspan(7, at)) == stored;
      });
    };
    while (!fits(slowly)) ++slowly;
    CHECK(end->payload_end == 7 + slowly);
    CHECK(end->record == 5);
    if (length > 0) CHECK_FALSE(find_piece_end(window, 7, 2, records, length - 1, all));
  }
}

}  // namespace tundish
