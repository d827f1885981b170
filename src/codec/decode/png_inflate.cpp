#include "codec/decode/png_inflate.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tundish {
namespace {

constexpr std::size_t kFrameBytes = 12;  // per chunk: length, type, checksum

std::uint32_t u32(Bytes bytes, std::size_t at) {
  return __builtin_bswap32(load<std::uint32_t>(&bytes[at]));
}

// Concatenates the IDAT chunks; empty if one is cut off or damaged.
std::span<const std::uint8_t> gather(std::uint8_t* to, Bytes chunks) {
  std::size_t at = 0, count = 0;
  while (chunks.size() - at >= kFrameBytes && std::memcmp(&chunks[at + 4], "IDAT", 4) == 0) {
    const std::size_t length = u32(chunks, at);
    if (length > chunks.size() - at - kFrameBytes) return {};
    const std::uint32_t sum = libdeflate_crc32(0, &chunks[at + 4], length + 4);
    if (sum != u32(chunks, at + 8 + length)) return {};
    std::memcpy(to + count, &chunks[at + 8], length);
    count += length;
    at += length + kFrameBytes;
  }
  return {to, count};
}

// True if no distance can exceed the stream's window: zlib would refuse it, libdeflate would not.
bool fits_window(std::span<const std::uint8_t> stream, std::uint64_t rows_bytes) {
  if (stream.size() < 2) return false;
  const std::uint64_t window = std::uint64_t{1} << (8 + (stream[0] >> 4));
  return window >= std::min<std::uint64_t>(rows_bytes, 32768);
}

}  // namespace

std::uint64_t inflated_png_bytes(const PngKind& kind, const ImageHeader& header, Bytes file) {
  const std::uint64_t row = png_row_bytes(kind, header.width) + 1;
  if (row > kMaxInflatedPng / header.height) return 0;
  return row * header.height + file.size();
}

bool inflate_png(std::span<std::uint8_t> rows, std::uint8_t* compressed, Bytes chunks) {
  const std::span<const std::uint8_t> stream = gather(compressed, chunks);
  if (!fits_window(stream, rows.size())) return false;
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflater(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!inflater) return false;
  // With a null length, a stream of fewer bytes is an error too.
  return libdeflate_zlib_decompress(inflater.get(), stream.data(), stream.size(), rows.data(),
                                    rows.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

}  // namespace tundish
