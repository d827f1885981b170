// Any bytes as a file of torch.save(): samples within the file, or an error.
// parser: src/data/source/formats/pth/* src/data/source/zip/* src/data/source/pickle/*
#include "data/source/formats/pth/pth.h"

#include "array_samples.h"
#include "data/source/formats/pth/pth_columns.h"
#include "memory_meter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  const MemoryMeter meter(1024 * size + (32 << 20));
  ArraySet set{.path = "fuzz", .format = "fuzz", .provenance = "fuzz"};
  set.memory_left = 8 << 20;
  try {
    PthFile file;
    read_pth_file(file, store_of(data, size), set.memory_left);
    add_columns(set, file, 0);
  } catch (const Error& error) {
    require(find_error(error.code()) != nullptr && error.code() != ErrorCode::source_changed);
    return 0;
  }
  read_some(std::move(set));
  return 0;
}
