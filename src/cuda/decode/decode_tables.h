// The lanes tables in the kernels' form: two levels, which need half the shared memory of whole
// entries.
#pragma once

#include <cstdint>

#include "codec/lanes/tables.h"

namespace tundish::cuda {

// A table's number and the first of its 1024 slots that is an escape: number << 10 | first slot.
using TableName = std::uint16_t;

// Tables that a block of threads keeps in shared memory.
struct SharedTables {
  std::uint32_t symbol[lanes::kTables][257];  // first slot | frequency << 10; 256 is the escape
  std::uint8_t slot[lanes::kTables][lanes::kTableSize];  // symbol of each slot; any for escapes
  TableName start[lanes::kSets][2];                      // luma, chroma
  TableName mask[lanes::kSets][2][lanes::kOctets][16];   // indexed by context
};
static_assert(sizeof(SharedTables) % 16 == 0);

struct DecodeTables {
  SharedTables shared;
  std::uint8_t rice[lanes::kSets][2][64][64];  // index: number of values in the block, rank
};

void make_decode_tables(DecodeTables& out, const lanes::Tables& tables);

}  // namespace tundish::cuda
