// Measures the read rate of a disk on the user's own files. Reads bypass the page cache where the
// file system allows O_DIRECT; elsewhere the affected pages are dropped first.
#pragma once

#include <cstdint>
#include <string>

#include "base/machine/storage/data_files.h"

namespace tundish {

struct ReadRate {
  unsigned depth = 1;  // concurrent reads, one per thread, as in a loader
  std::uint64_t reads = 0, bytes = 0;
  double seconds = 0;
  bool past_cache = false;  // whether O_DIRECT was accepted for every read
  std::string fault{};      // why the measurement failed; empty on success

  double bytes_per_second() const { return seconds > 0 ? double(bytes) / seconds : 0; }
  double reads_per_second() const { return seconds > 0 ? double(reads) / seconds : 0; }
};

struct ReadLimits {
  double seconds = 0.4;                          // wall time of one measurement
  std::uint64_t bytes = std::uint64_t{4} << 30;  // maximum number of bytes to read
};

// Reads blocks of 1 MiB in order, on one thread, from a random file and offset.
ReadRate measure_sequential(const DataFiles& data, std::uint64_t seed,
                            const ReadLimits& limits = {});

// Runs `depth` threads that each read records from random places, and blocks until done. A record
// of 0 bytes means a whole file, which is opened for the read.
ReadRate measure_random(const DataFiles& data, std::uint64_t record_bytes, unsigned depth,
                        std::uint64_t seed, const ReadLimits& limits = {});

struct ReadPlace {
  std::size_t file = 0;
  std::uint64_t offset = 0, length = 0;  // bytes within the file
};

// Returns the place of the n-th record: each byte of the data is equally likely. `offset` is a
// multiple of 4096, as O_DIRECT requires, and so is `length` unless the file ends there.
ReadPlace random_place(const DataFiles& data, std::uint64_t record_bytes, std::uint64_t seed,
                       std::uint64_t n);

}  // namespace tundish
