#include "data/pack/write/checkpoint.h"

#include <algorithm>
#include <bit>

namespace tundish {
namespace {

constexpr std::uint8_t kStart = 1, kRows = 2, kEnd = 3;  // first byte of a payload
constexpr std::uint64_t kMinRowBytes = 68;

void read_id(PackId& out, WireReader& in) {
  const Bytes bytes = in.raw(out.size());
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

}  // namespace

std::vector<std::byte> encode_start(const StartBlock& block) {
  WireWriter out;
  out.word(kStart);
  encode_identity(out, block.identity);
  out.word(block.trained_on);
  out.word(std::uint64_t{block.tables.size()});
  out.raw(block.tables);
  return out.bytes();
}

std::optional<StartBlock> decode_start(Bytes payload) {
  WireReader in(payload);
  if (in.word<std::uint8_t>() != kStart) return std::nullopt;
  auto identity = decode_identity(in);
  if (!identity) return std::nullopt;
  StartBlock out{.identity = std::move(*identity), .tables = {}};
  out.trained_on = in.word<std::uint64_t>();
  const Bytes tables = in.raw(in.word<std::uint64_t>());
  out.tables.assign(tables.begin(), tables.end());
  if (in.failed() || !in.rest().empty()) return std::nullopt;
  return out;
}

std::vector<std::byte> encode_rows(const RowsBlock& block, Bytes rows, std::uint64_t count) {
  WireWriter out;
  out.word(kRows);
  out.word(block.shard);
  out.word(block.next_sample);
  out.word(block.alignment);
  out.word(block.end);
  out.raw(block.digest);
  out.word(count);
  out.raw(rows);
  return out.bytes();
}

std::optional<RowsBlock> decode_rows(Bytes payload, std::size_t stored) {
  WireReader in(payload);
  if (in.word<std::uint8_t>() != kRows) return std::nullopt;
  RowsBlock out;
  out.shard = in.word<std::uint64_t>();
  out.next_sample = in.word<std::uint64_t>();
  out.alignment = in.word<std::uint32_t>();
  out.end = in.word<std::uint64_t>();
  read_id(out.digest, in);
  const auto count = in.word<std::uint64_t>();
  const bool alignment_is_right =
      std::has_single_bit(out.alignment) && out.alignment >= 8 && out.alignment <= 4096;
  if (!alignment_is_right || count > in.rest().size() / kMinRowBytes) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!decode_row(out.rows.emplace_back(), in, stored)) return std::nullopt;
  }
  if (in.failed() || !in.rest().empty()) return std::nullopt;
  return out;
}

std::vector<std::byte> encode_end(const EndBlock& block) {
  WireWriter out;
  out.word(kEnd);
  out.word(block.shard);
  out.word(block.records);
  out.word(block.file_bytes);
  out.raw(block.id);
  return out.bytes();
}

std::optional<EndBlock> decode_end(Bytes payload) {
  WireReader in(payload);
  if (in.word<std::uint8_t>() != kEnd) return std::nullopt;
  EndBlock out;
  out.shard = in.word<std::uint64_t>();
  out.records = in.word<std::uint64_t>();
  out.file_bytes = in.word<std::uint64_t>();
  read_id(out.id, in);
  if (in.failed() || !in.rest().empty()) return std::nullopt;
  return out;
}

}  // namespace tundish
