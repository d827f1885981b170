#include "data/source/chunks/lz4_chunk.h"

#include <fmt/format.h>
#include <lz4.h>
#include <xxhash.h>

#include <algorithm>
#include <string_view>

#include "data/source/chunks/big_endian.h"

namespace tundish {
namespace {

constexpr std::string_view kMagic = "LZ4Block";
constexpr std::size_t kStreamHead = 21;  // magic, token, three words
constexpr std::uint32_t kSeed = 0x9747b28c;

bool is_stream(Bytes in) {
  return in.size() >= kStreamHead &&
         std::string_view(reinterpret_cast<const char*>(in.data()), kMagic.size()) == kMagic;
}

}  // namespace

std::optional<Fault> decompress_lz4_block(ByteSpan out, Bytes in) {
  if (in.size() > LZ4_MAX_INPUT_SIZE || out.size() > LZ4_MAX_INPUT_SIZE) {
    return chunk_unsupported("lz4: a block of more than 2 GB", 0);
  }
  char spare = 0;  // LZ4 needs an address even for an empty chunk
  const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()),
                                      out.empty() ? &spare : reinterpret_cast<char*>(out.data()),
                                      static_cast<int>(in.size()), static_cast<int>(out.size()));
  if (got < 0) return chunk_damaged("lz4: the compressed data are damaged", 0);
  if (static_cast<std::size_t>(got) != out.size()) {
    return chunk_size_differs("lz4", static_cast<std::uint64_t>(got), out.size());
  }
  return std::nullopt;
}

std::optional<Fault> decompress_lz4_sized(ByteSpan out, Bytes in) {
  if (in.size() < 4) return chunk_damaged("lz4: the size is cut off", 0);
  const auto size = load<std::uint32_t>(in.data());
  if (size != out.size()) return chunk_size_differs("lz4", size, out.size());
  return decompress_lz4_block(out, in.subspan(4));
}

std::optional<Fault> decompress_lz4_stream(ByteSpan out, Bytes in) {
  std::size_t at = 0, to = 0;
  for (;;) {
    if (at == in.size() && to == out.size()) return std::nullopt;  // no end mark
    if (!is_stream(in.subspan(at)))
      return chunk_damaged("lz4: a part of the stream has no head", at);
    const auto method = std::to_integer<unsigned>(in[at + 8]) & 0xf0u;
    const auto stored = load<std::uint32_t>(in.data() + at + 9);
    const auto size = load<std::uint32_t>(in.data() + at + 13);
    const auto sum = load<std::uint32_t>(in.data() + at + 17);
    if (stored > in.size() - at - kStreamHead) {
      return chunk_damaged("lz4: a part leads out of the chunk", at);
    }
    if (size > out.size() - to) {
      return chunk_damaged(fmt::format("lz4: the chunk has more than {} bytes", out.size()), at);
    }
    const Bytes part = in.subspan(at + kStreamHead, stored);
    const ByteSpan target = out.subspan(to, size);
    if (size == 0) break;
    if (method != 0x10 && method != 0x20) return chunk_damaged("lz4: an unknown method", at + 8);
    auto fault = method == 0x10 ? copy_chunk(target, part) : decompress_lz4_block(target, part);
    if (fault) {
      fault->offset += at + kStreamHead;
      return fault;
    }
    if ((XXH32(target.data(), target.size(), kSeed) & 0x0fffffffu) != sum) {
      return chunk_damaged("lz4: a part fails its checksum", at);
    }
    at += kStreamHead + stored;
    to += size;
  }
  if (to != out.size()) return chunk_size_differs("lz4", to, out.size());
  return std::nullopt;
}

// N5 does not specify the writer of a chunk: a stream has a magic, numcodecs stores a size.
std::optional<Fault> decompress_lz4_n5(ByteSpan out, Bytes in) {
  if (is_stream(in)) return decompress_lz4_stream(out, in);
  if (in.size() >= 4 && load<std::uint32_t>(in.data()) == out.size() &&
      !decompress_lz4_block(out, in.subspan(4))) {
    return std::nullopt;
  }
  return decompress_lz4_block(out, in);
}

std::optional<Fault> decompress_lz4_hdf5(ByteSpan out, Bytes in) {
  if (in.size() < 12) return chunk_damaged("lz4: the head is cut off", 0);
  const auto size = load_big<std::uint64_t>(in.data());
  const std::size_t block = load_big<std::uint32_t>(in.data() + 8);
  if (size != out.size()) return chunk_size_differs("lz4", size, out.size());
  if (block == 0 && !out.empty()) return chunk_damaged("lz4: blocks of no bytes", 8);
  std::size_t at = 12;
  for (std::size_t to = 0; to < out.size();) {
    const std::size_t bytes = std::min(block, out.size() - to);
    if (in.size() - at < 4) return chunk_damaged("lz4: a block is cut off", at);
    const std::size_t stored = load_big<std::uint32_t>(in.data() + at);
    at += 4;
    if (stored > in.size() - at) return chunk_damaged("lz4: a block leads out of the chunk", at);
    const Bytes part = in.subspan(at, stored);
    const ByteSpan target = out.subspan(to, bytes);
    auto fault = stored == bytes ? copy_chunk(target, part) : decompress_lz4_block(target, part);
    if (fault) {
      fault->offset += at;
      return fault;
    }
    at += stored;
    to += bytes;
  }
  return std::nullopt;
}

}  // namespace tundish
