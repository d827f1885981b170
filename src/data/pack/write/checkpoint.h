// The blocks of a pack's journal: the start, then rows of records that are in the partial file.
// A pack in several files also has a block for the end of each file.
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
  std::vector<std::byte> tables;  // lanes codec tables, compressed; empty: not used
  std::uint64_t trained_on = 0;
};

// Rows added since the previous block, for samples below next_sample.
struct RowsBlock {
  std::uint64_t shard = 0;        // file number: 0, 1, ...
  std::uint64_t next_sample = 0;  // sample number in the source
  std::uint32_t alignment = 0;
  std::uint64_t end = 0;  // end of the last record in the file
  PackId digest{};        // digest of the file's bytes from the head to `end`
  std::vector<Row> rows;
};

// Written when every byte of the file is durable, before the file is renamed.
struct EndBlock {
  std::uint64_t shard = 0, records = 0, file_bytes = 0;
  PackId id{};
};

std::vector<std::byte> encode_start(const StartBlock& block);
std::vector<std::byte> encode_end(const EndBlock& block);
// `rows`: `count` encoded rows. Ignores the rows of `block`.
std::vector<std::byte> encode_rows(const RowsBlock& block, Bytes rows, std::uint64_t count);

// Return empty if the payload is no such block. `stored`: fields of a record that have bytes.
std::optional<StartBlock> decode_start(Bytes payload);
std::optional<EndBlock> decode_end(Bytes payload);
std::optional<RowsBlock> decode_rows(Bytes payload, std::size_t stored);

}  // namespace tundish
