// A source with samples stored as in a pack, so that records can be copied.
#pragma once

#include <cstdint>
#include <vector>

#include "data/source/source.h"

namespace tundish {

class StoredRecords {
 public:
  virtual ~StoredRecords() = default;

  // Reads all fields of sample i as stored and checks every checksum. `restore` gets the restore
  // data of a lanes record, and is empty for other samples. Any thread. Throws SampleError.
  virtual void read_stored(Sample& out, std::vector<std::byte>& restore, std::uint64_t i) const = 0;
};

}  // namespace tundish
