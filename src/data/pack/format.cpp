#include "data/pack/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "data/pack/checksum.h"

namespace tundish {
namespace {

bool starts_with(Bytes bytes, std::span<const unsigned char> magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(),
                    [](unsigned char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

void put(std::byte* to, std::span<const unsigned char> magic) {
  std::memcpy(to, magic.data(), magic.size());
}

std::optional<Fault> differs(ErrorCode code, std::uint32_t stored, std::uint32_t computed,
                             std::uint64_t offset) {
  if (stored == computed) return std::nullopt;
  return Fault{code, fmt::format("checksum: stored {:08x}, read {:08x}", stored, computed), offset};
}

}  // namespace

std::string hex(const PackId& id) {
  std::string text;
  for (const std::byte byte : id) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::optional<std::uint64_t> add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

std::optional<std::uint64_t> align_up(std::uint64_t offset, std::uint64_t alignment) {
  const auto sum = add(offset, alignment - 1);
  if (!sum) return std::nullopt;
  return *sum & ~(alignment - 1);
}

std::array<std::byte, kHeadBytes> encode_head(const Head& head) {
  std::array<std::byte, kHeadBytes> out{};
  put(out.data(), kHeadMagic);
  store(out.data() + 8, head.version);
  store(out.data() + 12, head.alignment);
  store(out.data() + 16, head.incompatible);
  store(out.data() + 24, head.compatible);
  std::copy(head.id.begin(), head.id.end(), out.begin() + 32);
  store(out.data() + 60, piece_crc(kNoRecord, kHeadPiece, Bytes(out).first(60)));
  return out;
}

std::optional<Fault> decode_head(Head& out, Bytes bytes) {
  const std::size_t magic = std::min(bytes.size(), kHeadMagic.size());
  if (magic == 0 || !starts_with(bytes, std::span(kHeadMagic).first(magic))) {
    return Fault{ErrorCode::not_a_pack, bytes.empty() ? "the file is empty" : "other first bytes",
                 0};
  }
  if (bytes.size() < kHeadBytes) {
    return Fault{
        ErrorCode::incomplete,
        fmt::format("the file has {} bytes, the head alone has {}", bytes.size(), kHeadBytes), 0};
  }
  // The version precedes the checksum: a later version may move the checksum.
  const std::byte* at = bytes.data();
  out.version = load<std::uint32_t>(at + 8);
  const auto crc = differs(ErrorCode::head_damaged, load<std::uint32_t>(at + 60),
                           piece_crc(kNoRecord, kHeadPiece, bytes.first(60)), 0);
  if (out.version != kFormatVersion) {
    // One wrong bit in the version of a version 1 file must not ask the user to update.
    std::array<std::byte, kHeadBytes> mended;
    std::copy_n(bytes.begin(), kHeadBytes, mended.begin());
    store(mended.data() + 8, kFormatVersion);
    if (load<std::uint32_t>(at + 60) == piece_crc(kNoRecord, kHeadPiece, Bytes(mended).first(60))) {
      return crc;
    }
    return Fault{ErrorCode::unknown_version,
                 fmt::format("version {}, this program reads {}", out.version, kFormatVersion), 8};
  }
  if (crc) return crc;
  out.alignment = load<std::uint32_t>(at + 12);
  out.incompatible = load<std::uint64_t>(at + 16);
  out.compatible = load<std::uint64_t>(at + 24);
  std::copy_n(at + 32, out.id.size(), out.id.begin());
  if (const std::uint64_t unknown = out.incompatible & ~kKnownIncompatible) {
    return Fault{ErrorCode::unknown_feature,
                 fmt::format("feature bit {} ({}) is set", std::countr_zero(unknown),
                             unknown & kFeatureLanes        ? "images of the lanes codec"
                             : unknown & kFeatureShards     ? "one of several files"
                             : unknown & kFeatureMultiField ? "several images or labels per sample"
                                                            : "not known"),
                 16};
  }
  if (!std::has_single_bit(out.alignment) || out.alignment < 8 || out.alignment > 4096) {
    return Fault{ErrorCode::head_damaged,
                 fmt::format("alignment {} is no power of two from 8 to 4096", out.alignment), 12};
  }
  return std::nullopt;
}

std::array<std::byte, kTailBytes> encode_tail(const Tail& tail) {
  std::array<std::byte, kTailBytes> out{};
  put(out.data(), kTailMagic);
  store(out.data() + 8, tail.file_bytes);
  store(out.data() + 16, tail.count);
  std::size_t at = 24;
  for (const Section& section : {tail.metadata, tail.tables, tail.names, tail.index}) {
    store(out.data() + at, section.offset);
    store(out.data() + at + 8, section.bytes);
    at += 16;
  }
  std::copy(tail.id.begin(), tail.id.end(), out.begin() + 88);
  std::copy(tail.digest.begin(), tail.digest.end(), out.begin() + 104);
  store(out.data() + 124, piece_crc(kNoRecord, kTailPiece, Bytes(out).first(124)));
  put(out.data() + 128, kEndMagic);
  return out;
}

std::optional<Fault> decode_tail(Tail& out, Bytes bytes, std::uint64_t file_bytes) {
  const auto damaged = [](std::string reason, std::uint64_t offset) {
    return Fault{ErrorCode::tail_damaged, std::move(reason), offset};
  };
  const std::byte* at = bytes.data();
  const bool begins = starts_with(bytes, kTailMagic);
  const bool ends = starts_with(bytes.subspan(128), kEndMagic);
  const std::uint32_t computed = piece_crc(kNoRecord, kTailPiece, bytes.first(124));
  const bool sums_up = load<std::uint32_t>(at + 124) == computed;
  // Any of the three indicates a tail. Without one, the file is cut off before its tail.
  if (!begins && !ends && !sums_up) {
    return Fault{ErrorCode::incomplete, "the file does not end with a tail", 0};
  }
  if (auto fault = differs(ErrorCode::tail_damaged, load<std::uint32_t>(at + 124), computed, 0)) {
    return fault;
  }
  if (!begins || !ends) return damaged("its first or last eight bytes are wrong", 0);

  out.file_bytes = load<std::uint64_t>(at + 8);
  out.count = load<std::uint64_t>(at + 16);
  std::size_t place = 24;
  for (Section* section : {&out.metadata, &out.tables, &out.names, &out.index}) {
    section->offset = load<std::uint64_t>(at + place);
    section->bytes = load<std::uint64_t>(at + place + 8);
    place += 16;
  }
  std::copy_n(at + 88, out.id.size(), out.id.begin());
  std::copy_n(at + 104, out.digest.size(), out.digest.begin());

  if (out.file_bytes != file_bytes) {
    return damaged(fmt::format("the tail says {} bytes, the file has {}",
                               with_commas(out.file_bytes), with_commas(file_bytes)),
                   8);
  }
  std::uint64_t next = out.metadata.offset;
  if (next < kHeadBytes || next % kSectionAlignment != 0) {
    return damaged(fmt::format("the metadata cannot begin at byte {}", with_commas(next)), 24);
  }
  place = 24;
  for (const Section& section : {out.metadata, out.tables, out.names, out.index}) {
    const auto end = add(section.offset, section.bytes);
    const auto after = end ? align_up(*end, kSectionAlignment) : std::nullopt;
    if (section.offset != next || !after || *after > file_bytes - kTailBytes) {
      return damaged("the sections overlap, leave a hole or reach beyond the file", place);
    }
    next = *after;
    place += 16;
  }
  if (next != file_bytes - kTailBytes) {
    return damaged("the sections do not end where the tail begins", place - 16);
  }
  return std::nullopt;
}

}  // namespace tundish
