// Any bytes as a pack: opening returns a pack whose every claim is within the file, or an Error.
// Most of the work happens on a repaired copy with correct checksums.
// parser: src/data/pack/seal.h src/data/pack/index.* src/data/pack/format.*
#include "data/pack/seal.h"
#include "memory_meter.h"

namespace {

void check(bool claim) {
  if (!claim) __builtin_trap();
}

void open(tundish::Bytes bytes) {
  constexpr std::size_t kTables = 8 << 20;  // lanes tables, as decoded
  const tundish::MemoryMeter meter(64 * bytes.size() + kTables);
  std::shared_ptr<const tundish::Pack> pack;
  try {
    pack = tundish::open_bytes(bytes);
  } catch (const tundish::Error&) {
    return;
  }
  check(pack->schema().fields.size() >= 1);
  tundish::Extent extent;
  std::uint64_t end = tundish::kHeadBytes;
  for (std::uint64_t i = 0; i < pack->count(); ++i) {
    const tundish::SampleInfo info = pack->info(i);
    check(info.orientation >= 1 && info.orientation <= 8);
    check(pack->record_offset(i) >= end);
    for (std::size_t f = 0; f < pack->schema().fields.size(); ++f) {
      if (!pack->extent(i, static_cast<int>(f), extent)) continue;
      check(extent.offset >= end);
      check(extent.bytes <= bytes.size() && extent.offset <= bytes.size() - extent.bytes);
      end = extent.offset + extent.bytes;
    }
  }
  try {
    for (std::uint64_t i = 0; i < pack->count(); ++i) (void)pack->key(i);
  } catch (const tundish::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tundish::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  open(bytes);
  if (size < tundish::kHeadBytes + tundish::kTailBytes) return 0;
  tundish::FileBytes repaired(bytes.begin(), bytes.end());
  tundish::repair(repaired);
  open(repaired);
  return 0;
}
