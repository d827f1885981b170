// Any bytes as an LMDB data file, and as a Caffe Datum: values inside the file that do not overlap
// in what they claim to be, or a fault.
#include <cstdlib>
#include <cstring>

#include "memory_meter.h"
#include "source/formats/records/caffe_datum.h"
#include "source/formats/records/lmdb_tree.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const MemoryMeter meter(64 * size + (4 << 20));
  const ReadAt read_at = [&](std::span<std::byte> out, std::uint64_t offset) {
    if (offset > size || out.size() > size - offset) return false;
    std::memcpy(out.data(), data + offset, out.size());
    return true;
  };
  LmdbValues values;
  const auto fault = walk_lmdb(values, read_at, size);
  require(values.offsets.size() == values.sizes.size());
  require(values.offsets.size() == values.keys.size());
  for (std::size_t i = 0; i < values.offsets.size(); ++i) {
    require(values.offsets[i] <= size && values.sizes[i] <= size - values.offsets[i]);
    CaffeDatum datum;
    const Bytes value = bytes.subspan(values.offsets[i], values.sizes[i]);
    if (!fault && i < 16) (void)parse_caffe_datum(datum, value);
  }
  CaffeDatum datum;
  if (!parse_caffe_datum(datum, bytes) && !datum.encoded) {
    require(datum.channels * datum.height * datum.width ==
            (datum.floats.empty() ? datum.data.size() : datum.floats.size() / 4));
  }
  return 0;
}
