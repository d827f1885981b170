// Tables in their stored, compressed form, and the built-in tables.
#include <fmt/format.h>
#include <zstd.h>

#include <cassert>
#include <memory>
#include <new>

#include "codec/lanes/tables.h"

namespace tundish::lanes {
namespace {

constexpr int kLevel = 19;
constexpr std::size_t kMaxBytes = 1 << 20;

constexpr unsigned char kBuiltin[] = {
#include "codec/lanes/builtin_tables.inc"
};

}  // namespace

std::vector<std::byte> compress_tables(const Tables& tables) {
  const std::vector<std::byte> plain = encode_tables(tables);
  std::vector<std::byte> out(ZSTD_compressBound(plain.size()));
  const std::size_t bytes =
      ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), kLevel);
  if (ZSTD_isError(bytes)) throw std::bad_alloc();  // the only possible failure
  out.resize(bytes);
  return out;
}

std::optional<Fault> expand_tables(Tables& out, Bytes bytes) {
  const auto fault = [](std::string reason) {
    return Fault{ErrorCode::metadata_damaged, "codec tables: " + std::move(reason), 0};
  };
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxBytes) {
    return fault("their size is not given, or too large");
  }
  std::vector<std::byte> plain(size);
  const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) || got != size) return fault("they cannot be expanded");
  return decode_tables(out, plain);
}

const Tables& builtin_tables() {
  static const std::unique_ptr<const Tables> tables = [] {
    auto out = std::make_unique<Tables>();
    const auto fault = expand_tables(*out, std::as_bytes(std::span(kBuiltin)));
    assert(!fault);
    (void)fault;
    return out;
  }();
  return *tables;
}

}  // namespace tundish::lanes
