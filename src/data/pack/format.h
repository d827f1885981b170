// Constants and structures of a .tnd file, version 1, as specified in docs/internals/format.md.
//
//   head | records | metadata | codec tables | names | index | tail
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

constexpr std::array<unsigned char, 8> kHeadMagic = {0x89, 'T', 'N', 'D', '\r', '\n', 0x1a, '\n'};
constexpr std::array<unsigned char, 8> kTailMagic = {'T', 'N', 'D', ' ', 't', 'a', 'i', 'l'};
constexpr std::array<unsigned char, 8> kEndMagic = {'T', 'N', 'D', ' ', 'e', 'n', 'd', '\n'};

constexpr std::uint32_t kFormatVersion = 1;
constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kTailBytes = 136;
constexpr std::uint64_t kCrcBytes = 4;
constexpr std::uint64_t kSectionAlignment = 8;
constexpr std::uint64_t kNamesPerBlock = 1024;
constexpr std::uint64_t kMaxMetadataBytes = 100'000'000;
constexpr std::uint64_t kMaxNamesBytes = 256ull << 20;  // per block, with its checksum
constexpr std::uint64_t kMaxTablesBytes = 1'000'000;
constexpr std::uint32_t kMaxImageSide = 1u << 24;

// If records have fewer bytes on average, they are aligned to 8 bytes instead of 64.
constexpr std::uint64_t kSmallRecord = 4096;

// Incompatible features: a reader refuses a file with an unknown bit.
constexpr std::uint64_t kFeatureLanes = 1u << 0;       // images of the lanes codec, version 1
constexpr std::uint64_t kFeatureShards = 1u << 1;      // reserved: one of several files
constexpr std::uint64_t kFeatureMultiField = 1u << 2;  // reserved: image + mask + boxes
constexpr std::uint64_t kFeatureArrays = 1u << 3;      // fields of elements alone: dtype and shape
constexpr std::uint64_t kKnownIncompatible = kFeatureLanes | kFeatureArrays;

// What a checksum covers. Field of a record: (record, field number). Part of the file:
// (kNoRecord, one of the constants below). Block of names: (block number, kNamesPiece).
constexpr std::uint64_t kNoRecord = ~std::uint64_t{0};
constexpr std::uint32_t kHeadPiece = 0;
constexpr std::uint32_t kMetadataPiece = 1;
constexpr std::uint32_t kTablesPiece = 2;
constexpr std::uint32_t kIndexPiece = 4;
constexpr std::uint32_t kTailPiece = 5;
constexpr std::uint32_t kNamesPiece = ~std::uint32_t{0};
constexpr std::uint32_t kRestorePiece = kNamesPiece - 1;  // for a lanes record: (record, this)

using PackId = std::array<std::byte, 16>;  // XXH3-128, canonical: most significant byte first
std::string hex(const PackId& id);

struct Head {
  std::uint32_t version = kFormatVersion;
  std::uint32_t alignment = 64;
  std::uint64_t incompatible = 0;
  std::uint64_t compatible = 0;
  PackId id{};
};

struct Section {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // including the checksum
  bool operator==(const Section&) const = default;
};

struct Tail {
  std::uint64_t file_bytes = 0;
  std::uint64_t count = 0;
  Section metadata, tables, names, index;
  PackId id{};
  PackId digest{};  // XXH3-128 over all bytes from kHeadBytes to the tail
};

std::array<std::byte, kHeadBytes> encode_head(const Head& head);
std::array<std::byte, kTailBytes> encode_tail(const Tail& tail);

// Decodes the first bytes of a file, possibly fewer than kHeadBytes. Faults: not_a_pack,
// unknown_version, head_damaged, unknown_feature; incomplete if `bytes` are the start of a head.
std::optional<Fault> decode_head(Head& out, Bytes bytes);

// Decodes the last kTailBytes of a file of `file_bytes`. Faults: incomplete or tail_damaged. On
// success, the sections are consecutive, without overlap or hole, and end at the tail.
std::optional<Fault> decode_tail(Tail& out, Bytes bytes, std::uint64_t file_bytes);

// Returns the next multiple of alignment (a power of two); empty if it does not fit in 64 bits.
std::optional<std::uint64_t> align_up(std::uint64_t offset, std::uint64_t alignment);
std::optional<std::uint64_t> add(std::uint64_t a, std::uint64_t b);  // empty on overflow

constexpr std::uint64_t names_blocks(std::uint64_t count) {
  return count / kNamesPerBlock + (count % kNamesPerBlock != 0);
}

}  // namespace tundish
