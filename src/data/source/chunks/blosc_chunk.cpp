#include "data/source/chunks/blosc_chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "data/source/chunks/lz4_chunk.h"
#include "data/source/chunks/shuffle.h"

namespace tundish {
namespace {

constexpr std::size_t kHead = 16;
constexpr std::size_t kMaxSplits = 16;   // blocks of wider elements have one stream
constexpr std::size_t kMinStream = 128;  // no shorter streams exist
constexpr unsigned kShuffle = 0x1, kCopied = 0x2, kBitShuffle = 0x4, kOneStream = 0x10;

struct Container {
  unsigned flags;
  std::size_t element;  // bytes shuffled together
  std::size_t block;    // bytes of every block except the last
  Bytes bytes;          // the whole container
};

using Decompress = std::optional<Fault> (*)(ByteSpan, Bytes);

Decompress codec_of(unsigned flags) {
  switch (flags >> 5) {
    case 0:
      return decompress_blosclz;
    case 1:
      return decompress_lz4_block;
    case 3:
      return decompress_gzip;
    case 4:
      return decompress_zstd;
    default:
      return nullptr;
  }
}

// Reads the streams of one block, each preceded by its size.
std::optional<Fault> read_streams(ByteSpan out, const Container& container, std::size_t at,
                                  std::size_t streams) {
  const Bytes in = container.bytes;
  const std::size_t bytes = out.size() / streams;
  for (std::size_t s = 0; s < streams; ++s) {
    if (in.size() - at < 4) return chunk_damaged("blosc: a stream is cut off", at);
    const std::size_t stored = load<std::uint32_t>(in.data() + at);
    at += 4;
    if (stored > in.size() - at) return chunk_damaged("blosc: a stream leads out of the chunk", at);
    const ByteSpan target = out.subspan(s * bytes, bytes);
    const Bytes part = in.subspan(at, stored);
    auto fault =
        stored == bytes ? copy_chunk(target, part) : codec_of(container.flags)(target, part);
    if (fault) {
      fault->reason = "blosc: " + fault->reason;
      fault->offset += at;
      return fault;
    }
    at += stored;
  }
  return std::nullopt;
}

std::optional<Fault> read_block(ByteSpan out, const Container& container, std::size_t start,
                                std::vector<std::byte>& scratch) {
  const bool last_and_short = out.size() != container.block;
  const bool split = (container.flags & kOneStream) == 0 && container.element <= kMaxSplits &&
                     container.block / container.element >= kMinStream && !last_and_short;
  const std::size_t streams = split ? container.element : 1;
  if (out.size() % streams != 0)
    return chunk_damaged("blosc: a block has no whole elements", start);
  const bool bytewise = (container.flags & kShuffle) != 0 && container.element > 1;
  const bool bitwise =
      !bytewise && (container.flags & kBitShuffle) != 0 && out.size() >= container.element;
  if (!bytewise && !bitwise) return read_streams(out, container, start, streams);
  scratch.resize(out.size());
  if (auto fault = read_streams(scratch, container, start, streams)) return fault;
  bytewise ? unshuffle_bytes(out, scratch, container.element)
           : unshuffle_bits(out, scratch, container.element);
  return std::nullopt;
}

}  // namespace

std::optional<Fault> decompress_blosc(ByteSpan out, Bytes in) {
  if (in.size() < kHead) return chunk_damaged("blosc: the head is cut off", 0);
  const auto version = std::to_integer<unsigned>(in[0]);
  if (version < 1 || version > 2) {
    return chunk_unsupported(fmt::format("blosc: container version {}", version), 0);
  }
  const auto bytes = load<std::uint32_t>(in.data() + 4);
  const auto stored = load<std::uint32_t>(in.data() + 12);
  if (bytes != out.size()) return chunk_size_differs("blosc", bytes, out.size());
  if (stored < kHead || stored > in.size()) {
    return chunk_damaged("blosc: its own size leads out of the chunk", 12);
  }
  const Container container{std::to_integer<unsigned>(in[2]), std::to_integer<std::size_t>(in[3]),
                            load<std::uint32_t>(in.data() + 8), in.first(stored)};
  if (out.empty()) return std::nullopt;
  if ((container.flags & kCopied) != 0) {
    auto fault = copy_chunk(out, container.bytes.subspan(kHead));
    if (fault) fault->reason = "blosc: " + fault->reason;
    return fault;
  }
  if (codec_of(container.flags) == nullptr) {
    return chunk_unsupported(fmt::format("blosc: codec {} (snappy is 2)", container.flags >> 5), 2);
  }
  if (container.element == 0 || container.block == 0) {
    return chunk_damaged("blosc: elements or blocks of no bytes", 3);
  }
  const std::size_t blocks = (out.size() - 1) / container.block + 1;
  if (blocks > (stored - kHead) / 4)
    return chunk_damaged("blosc: the block table is cut off", kHead);
  std::vector<std::byte> scratch;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t start = load<std::uint32_t>(in.data() + kHead + 4 * b);
    if (start < kHead || start > stored) {
      return chunk_damaged("blosc: a block leads out of the chunk", kHead + 4 * b);
    }
    const std::size_t from = b * container.block;
    const ByteSpan block = out.subspan(from, std::min(container.block, out.size() - from));
    if (auto fault = read_block(block, container, start, scratch)) return fault;
  }
  return std::nullopt;
}

// Differs from lzf: the first control byte is always literals, a length continues in bytes of 255,
// lengths count from 3, and 16 more bits follow the largest distance.
std::optional<Fault> decompress_blosclz(ByteSpan out, Bytes in) {
  constexpr std::size_t kFarthest = 8191;
  std::size_t at = 0, to = 0;
  const Fault early = chunk_damaged("blosclz: the compressed data end too early", in.size());
  const auto next = [&] { return std::to_integer<std::size_t>(in[at++]); };
  for (bool first = true; at < in.size(); first = false) {
    const std::size_t control = first ? next() & 31 : next();
    std::size_t length = control + 1, back = 0;
    if (control < 32) {
      if (length > in.size() - at) return early;
    } else {
      length = (control >> 5) + 2;
      for (std::size_t more = control >> 5 == 7 ? 255 : 0; more == 255; length += more) {
        if (at == in.size()) return early;
        more = next();
      }
      if (at == in.size()) return early;
      back = (control & 31) << 8;
      const std::size_t low = next();
      if (low == 255 && back == 31 << 8) {
        if (in.size() - at < 2) return early;
        back = next() << 8;
        back += next() + kFarthest;
      } else {
        back += low;
      }
      if (++back > to) return chunk_damaged("blosclz: a copy begins before the block", at);
    }
    if (length > out.size() - to) return chunk_damaged("blosclz: the block has too many bytes", at);
    if (back == 0) {
      std::copy_n(in.data() + at, length, out.data() + to);
      at += length;
    } else if (back >= length) {
      std::copy_n(out.data() + to - back, length, out.data() + to);
    } else {
      for (std::size_t i = 0; i < length; ++i) out[to + i] = out[to + i - back];
    }
    to += length;
  }
  if (to != out.size()) return chunk_size_differs("blosclz", to, out.size());
  return std::nullopt;
}

}  // namespace tundish
