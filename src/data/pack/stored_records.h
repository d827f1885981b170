// A source whose samples are stored as a pack stores records, so that they can be copied.
#pragma once

#include <cstdint>
#include <vector>

#include "data/source/source.h"

namespace tundish {

class StoredRecords {
 public:
  virtual ~StoredRecords() = default;

  // All fields of sample i as they are stored, with every checksum checked; `restore`: the restore
  // data of a lanes record, empty for others. Any thread. Throws SampleError.
  virtual void read_stored(Sample& out, std::vector<std::byte>& restore, std::uint64_t i) const = 0;
};

}  // namespace tundish
