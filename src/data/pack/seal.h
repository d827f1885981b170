// For tests and fuzzers: adds correct checksums to changed bytes, so that tests reach the code
// behind the checksum tests.
#pragma once

#include <algorithm>
#include <vector>

#include "data/pack/checksum.h"
#include "data/pack/format.h"
#include "data/pack/reader.h"

namespace tundish {

using FileBytes = std::vector<std::byte>;

inline std::shared_ptr<const Pack> open_bytes(Bytes bytes) {
  return Pack::open(std::make_unique<MemoryBytes>(bytes, "test.tnd"));
}

// Seals head, tail, metadata and index. The pack must have at least a head and a tail.
inline void seal(FileBytes& pack) {
  const std::size_t tail = pack.size() - kTailBytes;
  const auto section = [&](std::size_t entry, std::uint32_t piece) {
    const auto offset = load<std::uint64_t>(pack.data() + tail + entry);
    const auto bytes = load<std::uint64_t>(pack.data() + tail + entry + 8);
    if (bytes < kCrcBytes || offset < kHeadBytes || offset > tail || bytes > tail - offset) return;
    const std::uint64_t payload = bytes - kCrcBytes;
    store(pack.data() + offset + payload,
          piece_crc(kNoRecord, piece, Bytes(pack).subspan(offset, payload)));
  };
  section(24, kMetadataPiece);
  section(40, kTablesPiece);
  section(72, kIndexPiece);
  store(pack.data() + 60, piece_crc(kNoRecord, kHeadPiece, Bytes(pack).first(60)));
  store(pack.data() + tail + 124, piece_crc(kNoRecord, kTailPiece, Bytes(pack).subspan(tail, 124)));
}

// Also repairs magic, file length and pack id, which almost no random change preserves.
inline void repair(FileBytes& pack) {
  const std::size_t tail = pack.size() - kTailBytes;
  std::memcpy(pack.data(), kHeadMagic.data(), kHeadMagic.size());
  store(pack.data() + 8, kFormatVersion);
  // Known feature bits stay: without the lanes bit, packs with lanes records could not be opened.
  store(pack.data() + 16, load<std::uint64_t>(pack.data() + 16) & kKnownIncompatible);
  std::memcpy(pack.data() + tail, kTailMagic.data(), kTailMagic.size());
  std::memcpy(pack.data() + tail + 128, kEndMagic.data(), kEndMagic.size());
  store(pack.data() + tail + 8, std::uint64_t{pack.size()});
  std::copy_n(pack.data() + 32, 16, pack.data() + tail + 88);
  seal(pack);
}

// Repairs the checksum behind every field of every record, behind restore data, and behind every
// block of names.
inline void repair_records(FileBytes& pack, const Pack& opened) {
  Extent extent;
  for (std::uint64_t i = 0; i < opened.count(); ++i) {
    std::uint64_t end = opened.record_offset(i);
    for (std::size_t f = 0; f < opened.schema().fields.size(); ++f) {
      if (!opened.extent(i, static_cast<int>(f), extent)) continue;
      store(pack.data() + extent.offset + extent.bytes,
            piece_crc(i, static_cast<std::uint32_t>(f),
                      Bytes(pack).subspan(extent.offset, extent.bytes)));
      end = extent.offset + extent.bytes + kCrcBytes;
    }
    if (opened.info(i).codec != Codec::lanes) continue;
    const std::uint64_t restore = opened.restore_bytes(i);
    store(pack.data() + end + restore,
          piece_crc(i, kRestorePiece, Bytes(pack).subspan(end, restore)));
  }
  for (std::uint64_t b = 0; b < names_blocks(opened.count()); ++b) {
    const Section block = opened.names_block(b);
    if (block.bytes < kCrcBytes) continue;
    const std::uint64_t payload = block.bytes - kCrcBytes;
    store(pack.data() + block.offset + payload,
          piece_crc(b, kNamesPiece, Bytes(pack).subspan(block.offset, payload)));
  }
}

}  // namespace tundish
