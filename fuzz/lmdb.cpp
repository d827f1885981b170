// Any bytes as an LMDB data file, as a Caffe Datum and as a pickle of an image and its label:
// values within the file that do not overlap in what they claim to be, each a sample at most once,
// or a fault.
// parser: src/data/source/formats/records/lmdb_* src/data/source/formats/records/caffe_datum.*
// parser: src/data/source/formats/records/pickled_pair.* src/data/source/pickle/*
#include <cstdlib>
#include <cstring>
#include <vector>

#include "data/source/formats/records/caffe_datum.h"
#include "data/source/formats/records/lmdb_samples.h"
#include "data/source/formats/records/lmdb_tree.h"
#include "data/source/formats/records/pickled_pair.h"
#include "memory_meter.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

// Checks the parser's claims: the image lies within the value, or is not longer than the value.
void check_pair(Bytes value) {
  PickledPair pair;
  if (!parse_pickled_pair(pair, value))
    require(!pair.image.empty() && pair.image.size() < value.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const MemoryMeter meter(512 * size + (12 << 20));
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
    if (!fault && i < 16) check_pair(value);
  }
  const ReadValue read = [&](std::vector<std::byte>& out, std::size_t i) {
    const Bytes value = bytes.subspan(values.offsets[i], values.sizes[i]);
    out.assign(value.begin(), value.end());
  };
  LmdbSamples samples;
  if (!fault && !choose_lmdb_samples(samples, values, read)) {
    std::vector<bool> used(values.keys.size());
    for (const std::size_t i : samples.order) {
      require(i < used.size() && !used[i]);
      used[i] = true;
    }
  }
  check_pair(bytes);
  CaffeDatum datum;
  if (!parse_caffe_datum(datum, bytes) && !datum.encoded) {
    require(datum.channels * datum.height * datum.width ==
            (datum.floats.empty() ? datum.data.size() : datum.floats.size() / 4));
  }
  return 0;
}
