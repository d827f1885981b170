// Compresses restore data. Most JPEGs contain the same tables: a dictionary of these
// tables reduces the data to a few dozen bytes.
#include <fmt/format.h>
#include <zstd.h>

#include <array>
#include <memory>

#include "codec/lanes/standard_huffman.h"
#include "codec/lanes/transcode.h"

namespace tundish::lanes {
namespace {

constexpr int kLevel = 12;
constexpr std::size_t kZstdMagicBytes = 4;  // identical in every frame, therefore not stored

constexpr std::uint8_t kStart[] = {0x00, 0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 'J',  'F',  'I',
                                   'F',  0x00, 0x01, 0x01, 0x01, 0x00, 0x48, 0x00, 0x48, 0x00,
                                   0x00, 0xff, 0xe0, 0x00, 0x10, 'J',  'F',  'I',  'F',  0x00,
                                   0x01, 0x01, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00};
constexpr std::uint8_t kFrame[] = {0xff, 0xc0, 0x00, 0x11, 0x08, 0x00, 0x20, 0x00, 0x20, 0x03,
                                   0x01, 0x11, 0x00, 0x02, 0x11, 0x01, 0x03, 0x11, 0x01, 0x01,
                                   0x22, 0x00, 0x02, 0x11, 0x01, 0x03, 0x11, 0x01};
constexpr std::uint8_t kScan[] = {0xff, 0xda, 0x00, 0x0c, 0x03, 0x01, 0x00, 0x02,
                                  0x11, 0x03, 0x11, 0x00, 0x3f, 0x00, 0xff, 0xd9};

// Builds the dictionary in the order of a usual JPEG, so that one long match spans several parts.
std::vector<std::uint8_t> dictionary(const Quantization* quantization, int components) {
  std::vector<std::uint8_t> out;
  const auto add = [&](const auto& part) {
    for (const std::uint8_t byte : part) out.push_back(byte);
  };
  add(kStart);
  for (int c = 0; c < components && c < 2; ++c) {
    add(std::array<std::uint8_t, 5>{0xff, 0xdb, 0x00, 0x43, static_cast<std::uint8_t>(c)});
    for (const std::uint8_t place : kZigzag) {
      out.push_back(static_cast<std::uint8_t>(quantization[c][place]));
    }
  }
  add(kFrame);
  add(kStandardHuffman);
  add(kScan);
  return out;
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

std::vector<std::byte> compress_restore(Bytes restore, const Quantization* quantization,
                                        int components) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  const std::vector<std::uint8_t> known = dictionary(quantization, components);
  std::vector<std::byte> out(ZSTD_compressBound(restore.size()));
  const std::size_t bytes =
      ZSTD_compress_usingDict(context.get(), out.data(), out.size(), restore.data(), restore.size(),
                              known.data(), known.size(), kLevel);
  if (ZSTD_isError(bytes)) throw std::bad_alloc();  // the only possible failure
  out.resize(bytes);
  out.erase(out.begin(), out.begin() + kZstdMagicBytes);
  return out;
}

std::optional<Fault> expand_restore(std::vector<std::byte>& out, Bytes stored,
                                    const Quantization* quantization, int components,
                                    const JpegLimits& limits) {
  const auto damaged = [](std::string reason) {
    return Fault{ErrorCode::compression_damaged, "restore data: " + std::move(reason), 0};
  };
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  std::vector<std::byte> frame(kZstdMagicBytes + stored.size());
  store(frame.data(), std::uint32_t{ZSTD_MAGICNUMBER});
  std::copy(stored.begin(), stored.end(), frame.begin() + kZstdMagicBytes);
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return damaged("their size is not given");
  }
  if (size > limits.max_bytes) {
    return Fault{ErrorCode::image_too_large,
                 fmt::format("restore data of {} bytes; allowed are {}", with_commas(size),
                             with_commas(limits.max_bytes)),
                 0};
  }
  const std::vector<std::uint8_t> known = dictionary(quantization, components);
  out.resize(size);
  const std::size_t bytes =
      ZSTD_decompress_usingDict(context.get(), out.data(), out.size(), frame.data(), frame.size(),
                                known.data(), known.size());
  if (ZSTD_isError(bytes)) return damaged(ZSTD_getErrorName(bytes));
  if (bytes != size) return damaged("they end early");
  return std::nullopt;
}

}  // namespace tundish::lanes
