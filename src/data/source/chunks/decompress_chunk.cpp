#include "data/source/chunks/decompress_chunk.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

namespace tundish {
namespace {

constexpr std::uint64_t kMaxMemory = 256u << 20;  // limit of a decompressor

unsigned to_unsigned(std::size_t size) {
  return static_cast<unsigned>(
      std::min<std::size_t>(size, std::numeric_limits<unsigned>::max() / 2));
}

Fault more_than_wanted(const char* codec, std::size_t wanted, std::size_t offset) {
  return chunk_damaged(fmt::format("{}: the chunk has more than {} bytes", codec, wanted), offset);
}

Fault ends_early(const char* codec, std::size_t offset) {
  return chunk_damaged(fmt::format("{}: the compressed data end too early", codec), offset);
}

// Inflates the whole chunk with libdeflate. False: zlib must retry to find the fault, if any.
bool inflate_at_once(ByteSpan out, Bytes in) {
  // Kept per thread, like the zstd context below.
  thread_local std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)>
      inflater(libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!inflater || in.size() < 2) return false;
  const bool is_gzip = in[0] == std::byte{0x1f} && in[1] == std::byte{0x8b};
  // For a smaller window, zlib rejects distances beyond it; libdeflate does not check them.
  if (!is_gzip && in[0] != std::byte{0x78}) return false;
  const auto decompress = is_gzip ? libdeflate_gzip_decompress_ex : libdeflate_zlib_decompress_ex;
  std::size_t read = 0, written = 0;
  return decompress(inflater.get(), in.data(), in.size(), out.data(), out.size(), &read,
                    &written) == LIBDEFLATE_SUCCESS &&
         written == out.size();
}

}  // namespace

Fault chunk_damaged(std::string reason, std::uint64_t offset) {
  return {ErrorCode::source_damaged, std::move(reason), offset};
}

Fault chunk_unsupported(std::string reason, std::uint64_t offset) {
  return {ErrorCode::format_unsupported, std::move(reason), offset};
}

Fault chunk_size_differs(const char* codec, std::uint64_t found, std::uint64_t wanted) {
  return chunk_damaged(fmt::format("{}: the chunk has {} bytes, not {}", codec, found, wanted), 0);
}

std::optional<Fault> copy_chunk(ByteSpan out, Bytes in) {
  if (in.size() != out.size()) return chunk_size_differs("raw", in.size(), out.size());
  std::copy(in.begin(), in.end(), out.begin());
  return std::nullopt;
}

std::optional<Fault> decompress_gzip(ByteSpan out, Bytes in) {
  if (inflate_at_once(out, in)) return std::nullopt;
  return decompress_gzip_reference(out, in);
}

std::optional<Fault> decompress_gzip_reference(ByteSpan out, Bytes in) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  std::size_t read = 0, written = 0;
  std::byte spare{};  // detects a chunk that is too long; never written to `out`
  for (;;) {
    const bool full = written == out.size();
    stream.next_in =
        const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data() + read));  // zlib's interface
    stream.avail_in = to_unsigned(in.size() - read);
    stream.next_out = reinterpret_cast<Bytef*>(full ? &spare : out.data() + written);
    stream.avail_out = full ? 1 : to_unsigned(out.size() - written);
    const uInt in_before = stream.avail_in, out_before = stream.avail_out;
    const int result = inflate(&stream, Z_NO_FLUSH);
    read += in_before - stream.avail_in;
    const std::size_t got = out_before - stream.avail_out;
    if (full && got > 0) return more_than_wanted("gzip", out.size(), read);
    written += got;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) break;
    if (result != Z_OK && result != Z_BUF_ERROR) {
      return chunk_damaged(fmt::format("gzip: {}", stream.msg ? stream.msg : "damaged"), read);
    }
    if (in_before == stream.avail_in && got == 0) return ends_early("gzip", read);
  }
  if (written != out.size()) return chunk_size_differs("gzip", written, out.size());
  return std::nullopt;
}

std::optional<Fault> decompress_zstd(ByteSpan out, Bytes in) {
  // Kept per thread: making a context costs more than decompressing a small chunk.
  thread_local std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                               ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  const std::size_t got =
      ZSTD_decompressDCtx(context.get(), out.data(), out.size(), in.data(), in.size());
  if (ZSTD_isError(got)) return chunk_damaged(fmt::format("zstd: {}", ZSTD_getErrorName(got)), 0);
  if (got != out.size()) return chunk_size_differs("zstd", got, out.size());
  return std::nullopt;
}

std::optional<Fault> decompress_xz(ByteSpan out, Bytes in) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_auto_decoder(&stream, kMaxMemory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> owner(&stream, lzma_end);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
  stream.avail_in = in.size();
  std::uint8_t spare = 0;
  stream.next_out = out.empty() ? &spare : reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = out.empty() ? 1 : out.size();
  lzma_ret result = lzma_code(&stream, LZMA_FINISH);
  if (result == LZMA_OK && stream.avail_out == 0 && !out.empty()) {
    stream.next_out = &spare;
    stream.avail_out = 1;
    result = lzma_code(&stream, LZMA_FINISH);
  }
  const auto read = static_cast<std::size_t>(stream.total_in);
  if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
  if (stream.total_out > out.size()) return more_than_wanted("xz", out.size(), read);
  if (result == LZMA_MEMLIMIT_ERROR) {
    return chunk_damaged("xz: it needs more than 256 MiB to decompress", read);
  }
  if (result == LZMA_OK || result == LZMA_BUF_ERROR) return ends_early("xz", read);
  if (result != LZMA_STREAM_END) return chunk_damaged("xz: the compressed data are damaged", read);
  if (stream.total_out != out.size()) {
    return chunk_size_differs("xz", stream.total_out, out.size());
  }
  return std::nullopt;
}

std::optional<Fault> decompress_bzip2(ByteSpan out, Bytes in) {
  bz_stream stream{};
  if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) throw std::bad_alloc();
  const std::unique_ptr<bz_stream, int (*)(bz_stream*)> owner(&stream, BZ2_bzDecompressEnd);
  std::size_t read = 0, written = 0;
  std::byte spare{};
  for (;;) {
    const bool full = written == out.size();
    stream.next_in = const_cast<char*>(reinterpret_cast<const char*>(in.data() + read));
    stream.avail_in = to_unsigned(in.size() - read);
    stream.next_out = reinterpret_cast<char*>(full ? &spare : out.data() + written);
    stream.avail_out = full ? 1 : to_unsigned(out.size() - written);
    const unsigned in_before = stream.avail_in, out_before = stream.avail_out;
    const int result = BZ2_bzDecompress(&stream);
    read += in_before - stream.avail_in;
    const std::size_t got = out_before - stream.avail_out;
    if (full && got > 0) return more_than_wanted("bzip2", out.size(), read);
    written += got;
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    if (result == BZ_STREAM_END) break;
    if (result != BZ_OK) return chunk_damaged("bzip2: the compressed data are damaged", read);
    if (in_before == stream.avail_in && got == 0) return ends_early("bzip2", read);
  }
  if (written != out.size()) return chunk_size_differs("bzip2", written, out.size());
  return std::nullopt;
}

// A control byte below 32 announces a run of that many literals plus one. In other control bytes,
// the upper 3 bits are a length (7: the next byte adds to it), the lower 5 and the next a distance.
std::optional<Fault> decompress_lzf(ByteSpan out, Bytes in) {
  std::size_t at = 0, to = 0;
  while (at < in.size()) {
    const auto control = std::to_integer<std::size_t>(in[at++]);
    if (control < 32) {
      const std::size_t run = control + 1;
      if (run > in.size() - at) return ends_early("lzf", at);
      if (run > out.size() - to) return more_than_wanted("lzf", out.size(), at);
      std::copy_n(in.data() + at, run, out.data() + to);
      at += run;
      to += run;
      continue;
    }
    std::size_t length = control >> 5;
    if (length == 7) {
      if (at == in.size()) return ends_early("lzf", at);
      length += std::to_integer<std::size_t>(in[at++]);
    }
    length += 2;
    if (at == in.size()) return ends_early("lzf", at);
    const std::size_t back = ((control & 31) << 8) + std::to_integer<std::size_t>(in[at++]) + 1;
    if (back > to) return chunk_damaged("lzf: a copy begins before the chunk", at);
    if (length > out.size() - to) return more_than_wanted("lzf", out.size(), at);
    for (; length > 0; --length, ++to) out[to] = out[to - back];  // the ranges may overlap
  }
  if (to != out.size()) return chunk_size_differs("lzf", to, out.size());
  return std::nullopt;
}

}  // namespace tundish
