// How fast a disk delivers, measured on the user's own files, past the page cache where the file
// system allows it (O_DIRECT). Where it does not, the pages that are read are dropped first.
#pragma once

#include <cstdint>
#include <string>

#include "base/machine/storage/data_files.h"

namespace tundish {

struct ReadRate {
  unsigned depth = 1;  // reads at the same time, one per thread, as a loader reads
  std::uint64_t reads = 0, bytes = 0;
  double seconds = 0;
  bool past_cache = false;  // O_DIRECT was accepted for every read
  std::string fault{};      // why nothing was measured; empty otherwise

  double bytes_per_second() const { return seconds > 0 ? double(bytes) / seconds : 0; }
  double reads_per_second() const { return seconds > 0 ? double(reads) / seconds : 0; }
};

struct ReadLimits {
  double seconds = 0.4;                          // wall time of one measurement
  std::uint64_t bytes = std::uint64_t{4} << 30;  // and no more than this is read
};

// One thread, blocks of 1 MiB, in order, from a random file and place.
ReadRate measure_sequential(const DataFiles& data, std::uint64_t seed,
                            const ReadLimits& limits = {});

// `depth` threads, each reading records from random places; a record of 0 bytes is a whole file,
// opened for that. Blocks.
ReadRate measure_random(const DataFiles& data, std::uint64_t record_bytes, unsigned depth,
                        std::uint64_t seed, const ReadLimits& limits = {});

struct ReadPlace {
  std::size_t file = 0;
  std::uint64_t offset = 0, length = 0;  // inside of the file
};

// Where the n-th record is read: each byte of the data is as likely as any other. `offset` is a
// multiple of 4096, as O_DIRECT wants it, and so is `length` unless the file ends there.
ReadPlace random_place(const DataFiles& data, std::uint64_t record_bytes, std::uint64_t seed,
                       std::uint64_t n);

}  // namespace tundish
