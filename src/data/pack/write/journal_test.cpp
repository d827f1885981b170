#include "data/pack/write/journal.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "base/testing.h"
#include "data/pack/write/checkpoint.h"
#include "data/source/memory_source.h"

namespace tundish {
namespace {

Row random_row(Random& random, std::size_t stored) {
  Row row{.number = random.next(), .key = "k"};
  row.key.resize(random.below(50), 'k');
  row.info = {.width = static_cast<std::uint32_t>(random.next()),
              .height = static_cast<std::uint32_t>(random.next()),
              .codec = static_cast<Codec>(random.below(5)),
              .orientation = 3,
              .label = -1};
  row.restore = random.next();
  row.jpeg_bytes = random.next();
  row.digest[3] = std::byte{7};
  if (random.below(3) == 0) {
    row.refusal = Refusal{row.number, row.key, ErrorCode::file_empty, "empty"};
  } else {
    for (std::size_t i = 0; i < stored; ++i) row.lengths.push_back(random.next());
  }
  if (random.below(3) == 0) {
    row.doubt = Refusal{row.number, row.key, ErrorCode::image_header, "broken"};
  }
  return row;
}

}  // namespace

TEST_CASE("rows come back as they were, and a part of a block is refused") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 50; ++round) {
    const std::size_t stored = random.below(4);
    WireWriter rows;
    std::vector<Row> in;
    for (std::uint64_t i = random.below(5); i > 0; --i) {
      in.push_back(random_row(random, stored));
      encode_row(rows, in.back());
    }
    const RowsBlock block{.shard = 3, .next_sample = 9, .alignment = 64, .end = 77, .rows = {}};
    const auto payload = encode_rows(block, rows.bytes(), in.size());
    const auto out = decode_rows(payload, stored);
    REQUIRE(out);
    CHECK(out->next_sample == 9);
    REQUIRE(out->rows.size() == in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      CHECK(out->rows[i].number == in[i].number);
      CHECK(out->rows[i].key == in[i].key);
      CHECK(out->rows[i].lengths == in[i].lengths);
      CHECK(out->rows[i].info.codec == in[i].info.codec);
      CHECK(out->rows[i].refusal.has_value() == in[i].refusal.has_value());
      CHECK(out->rows[i].doubt.has_value() == in[i].doubt.has_value());
    }
    for (std::size_t bytes = 0; bytes < payload.size(); ++bytes) {
      CHECK_FALSE(decode_rows(Bytes(payload).first(bytes), stored));
    }
  }
}

TEST_CASE("a journal gives the blocks that were written, up to the first that is damaged") {
  const TemporaryFolder folder;
  const OutputTarget target(folder / "a.tnd", false);
  {
    Journal journal(target, true);
    for (const char* text : {"one", "two", "", "four"}) journal.append(bytes_of(text));
    journal.sync();
  }
  const auto blocks = [&](bool resume) {
    Journal journal(target, resume);
    std::vector<std::byte> payload;
    std::vector<std::string> out;
    while (journal.next(payload)) {
      out.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size());
    }
    return out;
  };
  CHECK(blocks(true) == std::vector<std::string>{"one", "two", "", "four"});
  CHECK(blocks(false).empty());
  std::vector<std::byte> bytes;
  read_file(bytes, folder / ".a.tnd.journal", 1000);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    folder.write(".a.tnd.journal", {reinterpret_cast<const char*>(damaged.data()), damaged.size()});
    CHECK(blocks(true).size() == (at < 15 ? 0 : at < 30 ? 1 : at < 42 ? 2 : 3));
  }
}

TEST_CASE("what is behind a rewound journal does not come back") {
  const TemporaryFolder folder;
  const OutputTarget target(folder / "a.tnd", false);
  std::vector<std::byte> payload;
  Journal journal(target, true);
  for (const char* text : {"one", "two", "three"}) journal.append(bytes_of(text));
  journal.rewind({});
  REQUIRE(journal.next(payload));
  journal.append(bytes_of("two"));
  CHECK_FALSE(journal.next(payload));
}

}  // namespace tundish
