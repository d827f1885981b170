// Any bytes as a damaged pack: records within the file, or an Error, within a memory limit.
// parser: src/data/pack/salvage/*
#include "data/pack/salvage/salvage.h"

#include "memory_meter.h"

namespace {

void check(bool claim) {
  if (!claim) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  constexpr std::size_t kTables = 16 << 20;  // lanes tables, and data to restore an image
  const MemoryMeter meter(256 * size + kTables);
  const auto file = std::make_shared<MemoryBytes>(bytes, "fuzz.tnd");
  Salvage found;
  try {
    SalvageOptions options;
    options.limits.max_pixels = 1 << 18;
    options.search = {.least = 1 << 10, .per_byte = 1};  // one input takes microseconds
    found = find_records(file, options);
  } catch (const Error&) {
    return 0;
  }
  std::uint64_t lost = 0;
  for (const LostRecords& part : found.lost) lost += part.count;
  check(found.method == SalvageMethod::scan || found.count == found.records.size() + lost);
  std::uint64_t end = kHeadBytes;
  for (const FoundRecord& record : found.records) {
    check(record.offset >= end);
    end = record.offset + record.restore;
    for (const std::uint64_t length : record.lengths) end += length + kCrcBytes;
    check(end <= size);
    check(!record.key.empty() || !record.key_is_lost);
  }
  const auto source = salvaged_source(file, std::move(found));
  Sample sample;
  for (std::uint64_t i = 0; i < source->count() && i < 4; ++i) {
    try {
      source->read(sample, i);
    } catch (const SampleError&) {
    }
  }
  return 0;
}
