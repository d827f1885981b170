// Everything about one sample that can be done away from the writing thread.
#pragma once

#include "decode/decode.h"
#include "pack/handover.h"

namespace tundish {

// Looks at the bytes in out.sample: fills info, key, checksums and digest, or refuses the sample.
void prepare(Prepared& out, const Source& source, const Limits& limits);

// A sample whose bytes could not be had.
void refuse(Prepared& out, const Source& source, const SampleError& error);

// Checksum of each stored field as record `record`.
void sum_up(std::vector<std::uint32_t>& crc, const Sample& sample, const Schema& schema,
            std::uint64_t record);

}  // namespace tundish
