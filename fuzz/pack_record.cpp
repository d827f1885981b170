// Reads records of any pack that can be opened. A read succeeds or throws a SampleError with the
// reason. verify names exactly the unreadable records, and lanes records that only the decoder
// rejects.
// parser: src/data/pack/seal.h src/data/pack/reader.* src/data/pack/format.*
#include <set>

#include "codec/decode/decode.h"
#include "data/pack/seal.h"
#include "memory_meter.h"

namespace {

void check(bool claim) {
  if (!claim) __builtin_trap();
}

constexpr tundish::Limits kLimits{.max_pixels = 1 << 16, .max_scans = 20, .max_bytes = 1 << 20};

// Limits memory beyond the input, which holds record and restore data, and the thread's decoder.
void read_original(const tundish::Pack& pack, std::uint64_t i, std::size_t input) {
  constexpr int kMaxWidth = 65'535;  // for an image one pixel high
  const tundish::MemoryMeter meter(
      6 * kLimits.max_pixels + tundish::restore_promise(kMaxWidth, 1, input, kLimits.max_bytes));
  tundish::Sample sample;
  try {
    pack.read_original(sample, i, tundish::kAllFields, kLimits);
  } catch (const tundish::SampleError&) {
  }
}

std::uint64_t read_all(tundish::Bytes bytes) {
  const auto pack = tundish::open_bytes(bytes);
  std::set<std::uint64_t> unreadable, reported, lanes;
  tundish::Sample sample;
  for (std::uint64_t i = 0; i < pack->count(); ++i) {
    try {
      pack->read(sample, i);
      check(sample.fields.size() == pack->schema().fields.size());
      if (pack->info(i).codec == tundish::Codec::lanes) lanes.insert(i);
    } catch (const tundish::SampleError& error) {
      check(*error.where().record == i);
      unreadable.insert(i);
    }
  }
  pack->verify([&](const tundish::Error& error) {
    if (error.code() == tundish::ErrorCode::record_checksum) {
      reported.insert(*error.where().record);
    }
  });
  for (const std::uint64_t i : lanes) {
    reported.erase(i);
    read_original(*pack, i, bytes.size());
  }
  check(unreadable == reported);
  return unreadable.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < tundish::kHeadBytes + tundish::kTailBytes) return 0;
  const tundish::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  tundish::FileBytes repaired(bytes.begin(), bytes.end());
  tundish::repair(repaired);
  try {
    read_all(repaired);
    tundish::repair_records(repaired, *tundish::open_bytes(repaired));
    check(read_all(repaired) == 0);
  } catch (const tundish::Error&) {
  }
  return 0;
}
