// Any bytes as a zip archive of arrays: samples within the archive, or an error.
// parser: src/data/source/formats/npz.* src/data/source/zip/* src/data/source/arrays/npy_layout.*
#include "data/source/formats/npz.h"

#include "array_samples.h"
#include "memory_meter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  const MemoryMeter meter(64 * size + (48 << 20));
  const SharedStore store = store_of(data, size);
  std::vector<ZipMember> members;
  if (!read_zip_directory(members, *store, "fuzz")) {
    for (const ZipMember& member : members) {
      require(range_fits(member.offset, member.packed, size));
    }
  }
  ArraySet set{.path = "fuzz", .format = "fuzz", .provenance = "fuzz"};
  set.memory_left = 8 << 20;
  try {
    read_npz(set, store, 0);
  } catch (const Error& error) {
    require(find_error(error.code()) != nullptr && error.code() != ErrorCode::source_changed);
    return 0;
  }
  read_some(std::move(set));
  return 0;
}
