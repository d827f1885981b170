#include "cuda/decode/decode_tables.h"

#include <cstring>

namespace tundish::cuda {

void make_decode_tables(DecodeTables& out, const lanes::Tables& tables) {
  out = {};
  for (int table = 0; table < lanes::kTables; ++table) {
    for (std::uint32_t symbol = 0; symbol <= lanes::kEscape; ++symbol) {
      const std::uint32_t first = tables.first[table][symbol];
      const std::uint32_t frequency = tables.frequencies[table].of[symbol];
      // The first slot of an unused symbol may be 1024; the value has no meaning.
      out.shared.symbol[table][symbol] = first % lanes::kTableSize | frequency << lanes::kTableBits;
      if (symbol == lanes::kEscape) break;
      std::memset(out.shared.slot[table] + first, static_cast<int>(symbol), frequency);
    }
  }
  const auto name_of = [&](int table) {
    return static_cast<TableName>(table << lanes::kTableBits | tables.first[table][lanes::kEscape]);
  };
  for (int set = 0; set < lanes::kSets; ++set) {
    for (int chroma = 0; chroma < 2; ++chroma) {
      out.shared.start[set][chroma] = name_of(lanes::start_table(set, chroma == 1));
      for (int octet = 0; octet < lanes::kOctets; ++octet) {
        for (int context = 0; context < lanes::kContexts; ++context) {
          out.shared.mask[set][chroma][octet][context] =
              name_of(tables.set[set].mask_table[chroma][octet][context]);
        }
      }
    }
    static_assert(sizeof out.rice[0] == sizeof tables.set[0].rice);
    std::memcpy(out.rice[set], tables.set[set].rice, sizeof out.rice[set]);
  }
}

}  // namespace tundish::cuda
