// The blocks of a pack's journal. First the start, then rows of records that are in the partial
// file, and, of a pack in several files, the end of each file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/lanes/tables.h"
#include "data/pack/write/identity.h"
#include "data/pack/write/row.h"

namespace tundish {

struct StartBlock {
  PackIdentity identity;
  std::vector<std::byte> tables;  // of the lanes codec, compressed; empty: not used
  std::uint64_t trained_on = 0;
};

// Rows since the block before, of the samples below next_sample.
struct RowsBlock {
  std::uint64_t shard = 0;        // the file: 0, 1, ...
  std::uint64_t next_sample = 0;  // in the source
  std::uint32_t alignment = 0;
  std::uint64_t end = 0;  // of the last record in the file
  PackId digest{};        // of the file's bytes from the head to there
  std::vector<Row> rows;
};

// Written when every byte of the file is durable, before the file gets its name.
struct EndBlock {
  std::uint64_t shard = 0, records = 0, file_bytes = 0;
  PackId id{};
};

std::vector<std::byte> encode_start(const StartBlock& block);
std::vector<std::byte> encode_end(const EndBlock& block);
// `rows`: encoded, so many as `count`. The rows of `block` are not looked at.
std::vector<std::byte> encode_rows(const RowsBlock& block, Bytes rows, std::uint64_t count);

// Empty when the payload is no such block. `stored`: fields of a record that have bytes.
std::optional<StartBlock> decode_start(Bytes payload);
std::optional<EndBlock> decode_end(Bytes payload);
std::optional<RowsBlock> decode_rows(Bytes payload, std::size_t stored);

}  // namespace tundish
