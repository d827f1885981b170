// The tables of lanes as the kernels have them: two levels, which take half of the shared memory
// that whole entries would.
#pragma once

#include <cstdint>

#include "codec/lanes/tables.h"

namespace tundish::cuda {

// A table's number and where its escape begins among the 1024 slots: number << 10 | first slot.
using TableName = std::uint16_t;

// What a block of threads keeps in shared memory.
struct SharedTables {
  std::uint32_t symbol[lanes::kTables][257];  // first slot | frequency << 10; 256 is the escape
  std::uint8_t slot[lanes::kTables][lanes::kTableSize];  // the symbol; any for the escape's
  TableName start[lanes::kSets][2];                      // luma, chroma
  TableName mask[lanes::kSets][2][lanes::kOctets][16];   // by context
};
static_assert(sizeof(SharedTables) % 16 == 0);

struct DecodeTables {
  SharedTables shared;
  std::uint8_t rice[lanes::kSets][2][64][64];  // by values of the block and rank
};

void make_decode_tables(DecodeTables& out, const lanes::Tables& tables);

}  // namespace tundish::cuda
