#include "data/source/chunks/chunk_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/crc32c.h"
#include "data/source/chunks/big_endian.h"
#include "data/source/chunks/blosc_chunk.h"
#include "data/source/chunks/lz4_chunk.h"
#include "data/source/chunks/shuffle.h"

namespace tundish {
namespace {

constexpr std::size_t kSum = 4;

bool is_checksum(ChunkCodec codec) {
  return codec == ChunkCodec::fletcher32 || codec == ChunkCodec::crc32c_at_end;
}

// HDF5 1.6.2 swapped the bytes of each half; both orders are accepted.
bool same_fletcher(std::uint32_t stored, std::uint32_t found) {
  const std::uint32_t swapped = (found & 0x00ff00ffu) << 8 | (found >> 8 & 0x00ff00ffu);
  return stored == found || stored == swapped;
}

std::optional<Fault> check_sum(ByteSpan out, Bytes in, ChunkCodec codec) {
  if (in.size() < kSum) return chunk_damaged("the checksum is cut off", 0);
  const Bytes data = in.first(in.size() - kSum);
  const auto stored = load<std::uint32_t>(in.data() + data.size());
  const bool fletcher = codec == ChunkCodec::fletcher32;
  const std::uint32_t found = fletcher ? fletcher32(data) : crc32c(data);
  if (fletcher ? !same_fletcher(stored, found) : stored != found) {
    return chunk_damaged(fmt::format("{}: stored {:08x}, read {:08x}",
                                     fletcher ? "fletcher32" : "crc32c", stored, found),
                         data.size());
  }
  return copy_chunk(out, data);
}

std::optional<Fault> undo_step(ByteSpan out, Bytes in, const ChunkStep& step) {
  switch (step.codec) {
    case ChunkCodec::gzip:
      return decompress_gzip(out, in);
    case ChunkCodec::zstd:
      return decompress_zstd(out, in);
    case ChunkCodec::xz:
      return decompress_xz(out, in);
    case ChunkCodec::bzip2:
      return decompress_bzip2(out, in);
    case ChunkCodec::lzf:
      return decompress_lzf(out, in);
    case ChunkCodec::lz4_sized:
      return decompress_lz4_sized(out, in);
    case ChunkCodec::lz4_n5:
      return decompress_lz4_n5(out, in);
    case ChunkCodec::lz4_hdf5:
      return decompress_lz4_hdf5(out, in);
    case ChunkCodec::blosc:
      return decompress_blosc(out, in);
    case ChunkCodec::shuffle:
      if (in.size() != out.size()) return chunk_size_differs("shuffle", in.size(), out.size());
      unshuffle_bytes(out, in, step.element);
      return std::nullopt;
    case ChunkCodec::swap_bytes:
      if (auto fault = copy_chunk(out, in)) return fault;
      swap_elements(out, step.element);
      return std::nullopt;
    case ChunkCodec::fletcher32:
    case ChunkCodec::crc32c_at_end:
      return check_sum(out, in, step.codec);
  }
  return chunk_unsupported("an unknown codec", 0);
}

}  // namespace

std::uint32_t fletcher32(Bytes bytes) {
  std::uint64_t a = 0, b = 0;
  const std::size_t words = bytes.size() / 2;
  for (std::size_t i = 0; i < words; ++i) {
    a += load_big<std::uint16_t>(bytes.data() + 2 * i);
    b += a;
    if (i % 256 == 255) {
      a %= 65535;
      b %= 65535;
    }
  }
  if (bytes.size() % 2 != 0) {
    a += std::to_integer<std::uint64_t>(bytes.back()) << 8;
    b += a;
  }
  // HDF5 folds instead of dividing: a sum that is a nonzero multiple of 65535 stays 65535.
  const auto fold = [](std::uint64_t sum, bool zero) {
    sum %= 65535;
    return static_cast<std::uint32_t>(sum == 0 && !zero ? 65535 : sum);
  };
  const bool zero =
      std::all_of(bytes.begin(), bytes.end(), [](std::byte x) { return x == std::byte{0}; });
  return fold(b, zero) << 16 | fold(a, zero);
}

// Returns the output size of a step. A decompressor's output includes checksums added earlier.
static std::size_t size_after(const ChunkStep& step, std::size_t in, std::size_t chunk,
                              std::size_t sums) {
  if (is_checksum(step.codec)) return in < kSum ? 0 : in - kSum;
  if (step.codec == ChunkCodec::shuffle || step.codec == ChunkCodec::swap_bytes) return in;
  return chunk + sums * kSum;
}

std::optional<Fault> undo_steps(ByteSpan out, Bytes stored, std::span<const ChunkStep> steps) {
  if (steps.empty()) return copy_chunk(out, stored);
  std::vector<std::byte> before, after;  // input and output of a step, in reading order
  Bytes in = stored;
  auto sums = static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const ChunkStep& step) { return is_checksum(step.codec); }));
  for (std::size_t left = steps.size(); left > 0; --left) {
    const ChunkStep& step = steps[left - 1];
    if (is_checksum(step.codec)) --sums;
    ByteSpan target = out;
    if (left > 1) {
      after.resize(size_after(step, in.size(), out.size(), sums));
      target = after;
    }
    auto fault = undo_step(target, in, step);
    if (fault) {
      if (left < steps.size()) fault->offset = 0;  // its bytes are not in the file
      return fault;
    }
    std::swap(before, after);
    in = before;
  }
  return std::nullopt;
}

}  // namespace tundish
