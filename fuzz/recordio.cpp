// Any bytes as a RecordIO file and as its .idx file: records within the file, or a fault.
// parser: src/data/source/formats/records/recordio_reader.*
#include <cstdlib>
#include <vector>

#include "data/source/formats/records/recordio_reader.h"
#include "data/source/memory_stream.h"
#include "data/source/names.h"
#include "memory_meter.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

void try_file(Bytes file) {
  MemoryStream stream(file);
  RecordIoReader reader(stream);
  RecordIoRecord record;
  std::vector<std::byte> data;
  std::uint64_t end = 0;
  while (reader.next(record)) {
    require(record.offset == end && record.stored <= file.size() - end);
    end += record.stored;
    require(!join_recordio(data, file.subspan(record.offset, record.stored)));
    require(data.size() == record.size);
    const std::size_t head = std::min(data.size(), kIrHeaderBytes);
    require(std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(head),
                       record.head.begin()));
  }
  require(reader.fault() || end == file.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const MemoryMeter meter(64 * size + (1 << 16));
  try_file(bytes);
  std::vector<std::byte> joined;
  (void)join_recordio(joined, bytes);
  RecordIoKeys keys;
  if (!parse_recordio_keys(keys, {reinterpret_cast<const char*>(data), size})) {
    require(keys.names.size() == keys.offsets.size());
    for (std::size_t k = 0; k < keys.names.size(); ++k) require(is_clean_key(keys.names[k]));
  }
  return 0;
}
