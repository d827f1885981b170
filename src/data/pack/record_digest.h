// The input of the pack id: the schema, and a digest of every record.
#pragma once

#include <array>

#include "data/pack/digest.h"
#include "data/source/source.h"

namespace tundish {

// Starts the digest of one record with its index entry and key. The stored fields follow in
// order. Lengths precede contents, so that no two records produce the same bytes.
inline void begin_record_digest(Digest& digest, const SampleInfo& info, std::string_view key,
                                std::span<const std::uint64_t> lengths) {
  std::array<std::byte, 26> entry;
  store(entry.data(), info.label);
  store(entry.data() + 8, info.width);
  store(entry.data() + 12, info.height);
  store(entry.data() + 16, static_cast<std::uint8_t>(info.codec));
  store(entry.data() + 17, info.orientation);
  store(entry.data() + 18, std::uint64_t{key.size()});
  digest.reset();
  digest.add(entry);
  digest.add(std::as_bytes(lengths));
  digest.add(key);
}

}  // namespace tundish
