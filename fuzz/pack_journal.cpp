// Any bytes as a block of a pack's journal: a block or nothing; writing a block back gives the same
// bytes. Also any bytes as the remains of an interrupted pack. The first byte selects how many
// fields of a record have bytes.
// parser: src/data/pack/write/journal.* src/data/pack/write/checkpoint.*
// parser: src/data/pack/salvage/partial_pack.* src/data/pack/metadata.*
#include <algorithm>
#include <cstdlib>

#include "data/pack/checksum.h"
#include "data/pack/metadata.h"
#include "data/pack/salvage/partial_pack.h"
#include "data/pack/write/checkpoint.h"
#include "data/pack/write/journal.h"
#include "memory_meter.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

bool same(const std::vector<std::byte>& a, Bytes b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void add_block(std::vector<std::byte>& journal, std::uint64_t number, Bytes payload) {
  WireWriter out;
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  out.word(kBlockMagic);
  out.word(bytes);
  out.raw(payload);
  out.word(piece_crc(number, bytes, payload));
  journal.insert(journal.end(), out.bytes().begin(), out.bytes().end());
}

// Interprets the bytes as the rows of an interrupted pack, and as its partial file. Every record
// found is within the file.
void salvage(Bytes bytes) {
  const Schema schema{.fields = {{"image", FieldType::image}, {"label", FieldType::label}},
                      .classes = {},
                      .source = "fuzz"};
  const StartBlock start{.identity = {{"the schema of the source", schema_json(schema)}},
                         .tables = {}};
  std::vector<std::byte> journal;
  add_block(journal, 0, encode_start(start));
  add_block(journal, 1, bytes);
  const auto partial = std::make_shared<MemoryBytes>(bytes, "fuzz");
  SalvageOptions options;
  options.limits.max_pixels = 1 << 18;
  const auto found = find_partial_records(partial, MemoryBytes(journal, "journal"), options);
  if (!found) return;
  for (const FoundRecord& record : found->records) {
    std::uint64_t end = record.offset + record.restore;
    for (const std::uint64_t length : record.lengths) end += length + kCrcBytes;
    require(record.offset >= kHeadBytes && end <= bytes.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t stored = data[0] % 4;
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const MemoryMeter meter((16 << 20) + 256 * size);
  if (const auto start = decode_start(bytes)) require(same(encode_start(*start), bytes));
  if (const auto end = decode_end(bytes)) require(same(encode_end(*end), bytes));
  if (const auto block = decode_rows(bytes, stored)) {
    WireWriter rows;
    for (const Row& row : block->rows) {
      require(row.lengths.size() == (row.refusal ? 0 : stored));
      encode_row(rows, row);
    }
    require(same(encode_rows(*block, rows.bytes(), block->rows.size()), bytes));
  }
  salvage(bytes);
  return 0;
}
