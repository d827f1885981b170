// Any bytes as a block of a pack's journal: a block or nothing, and what is a block is written back
// as the same bytes. The first byte chooses how many fields of a record have bytes.
#include <algorithm>
#include <cstdlib>

#include "memory_meter.h"
#include "pack/write/checkpoint.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

bool same(const std::vector<std::byte>& a, Bytes b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t stored = data[0] % 4;
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const MemoryMeter meter((1 << 20) + 64 * size);
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
  return 0;
}
