#include "data/source/decompress.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <new>
#include <vector>

#include "base/interruption.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxMemory = 256ull << 20;
constexpr std::size_t kInputBytes = 128 << 10;

// A byte of gzip expands to at most 1,032 bytes. A byte of bzip2 can expand to over a million, so
// that a few kilobytes take hours. Outputs up to kAnyDensity may have any density.
constexpr std::uint64_t kMostPerByte = 1'100, kAnyDensity = 256ull << 20;

unsigned clamp_to_unsigned(std::size_t bytes) {
  return static_cast<unsigned>(std::min<std::size_t>(bytes, UINT_MAX));
}

enum class State { inside, between_parts };  // relative to a compressed part

// Common to the four decompressors: buffered input, transitions between parts, and the end.
class Decompressor : public ByteStream {
 public:
  Decompressor(ByteStream& in, std::string path)
      : in_(in), path_(std::move(path)), buffer_(kInputBytes) {}

  std::size_t read(std::span<std::byte> out) override {
    std::size_t done = 0;
    while (done < out.size() && !ended_) {
      check_stop(path_);
      if (input_.empty() && !last_) refill();
      if (state_ == State::between_parts && !begin_part()) continue;
      const std::size_t input_before = input_.size();
      std::span<std::byte> room = out.subspan(done);
      const std::size_t room_before = room.size();
      state_ = step(input_, room, last_);
      done += room_before - room.size();
      const bool moved = input_.size() != input_before || room.size() != room_before;
      if (!moved && state_ == State::inside) {
        if (input_.empty() && last_) fail("the compressed data end early");
        if (!input_.empty()) fail("the compressed data make no sense");
      }
    }
    offset_ += done;
    check_density();
    return done;
  }

  std::uint64_t offset() const override { return offset_; }

 protected:
  // Moves `in` and `out` past the consumed and produced bytes. `last`: no input follows `in`.
  virtual State step(Bytes& in, std::span<std::byte>& out, bool last) = 0;

  // Prepares for the part that begins at the front of `in`. False: no part begins there.
  virtual bool restart(Bytes in) = 0;

  [[noreturn]] void fail(std::string reason) const {
    throw Error(ErrorCode::compression_damaged,
                {.file = path_, .offset = in_.offset() - input_.size()}, std::move(reason));
  }

 private:
  void check_density() const {
    const std::uint64_t consumed = in_.offset() - input_.size();
    if (offset_ <= kAnyDensity || offset_ - kAnyDensity <= kMostPerByte * consumed) return;
    throw Error(
        ErrorCode::format_unsupported, {.file = path_, .offset = consumed},
        fmt::format("its first {} bytes unpack to over {}, more than {} times as many: if "
                    "it is no decompression bomb, unpack it first",
                    with_commas(consumed), with_commas(offset_), with_commas(kMostPerByte)));
  }

  // Keeps unread bytes and appends input, so that the first bytes of a part are contiguous.
  void refill() {
    const std::size_t kept = input_.size();
    std::copy(input_.begin(), input_.end(), buffer_.begin());
    const std::size_t got = in_.read(std::span(buffer_).subspan(kept));
    last_ = got < buffer_.size() - kept;
    input_ = Bytes(buffer_).first(kept + got);
  }

  // Returns false at the end of the input. Zero padding may follow the last part.
  bool begin_part() {
    if (input_.size() < 8 && !last_) refill();
    if (!input_.empty() && (first_ || input_.front() != std::byte{0})) {
      if (!restart(input_)) fail(first_ ? "the head is damaged" : "other data follow the end");
      first_ = false;
      state_ = State::inside;
      return true;
    }
    if (first_) fail("the compressed data end early");
    while (!input_.empty() && input_.front() == std::byte{0}) input_ = input_.subspan(1);
    ended_ = input_.empty() && last_;
    return false;
  }

  ByteStream& in_;
  std::string path_;
  std::vector<std::byte> buffer_;
  Bytes input_;        // unconsumed bytes of the buffer
  bool last_ = false;  // true if no input follows the buffer
  bool first_ = true;
  bool ended_ = false;
  State state_ = State::between_parts;
  std::uint64_t offset_ = 0;
};

class Gzip : public Decompressor {
 public:
  Gzip(ByteStream& in, std::string path) : Decompressor(in, std::move(path)) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }

 protected:
  bool restart(Bytes in) override {
    return sniff_compression(in) == Compression::gzip && inflateReset(&stream_) == Z_OK;
  }

  State step(Bytes& in, std::span<std::byte>& out, bool) override {
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream_.avail_in = clamp_to_unsigned(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = clamp_to_unsigned(out.size());
    const uInt in_before = stream_.avail_in;
    const uInt out_before = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(in_before - stream_.avail_in);
    out = out.subspan(out_before - stream_.avail_out);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) return State::between_parts;
    if (result != Z_OK && result != Z_BUF_ERROR) {
      fail(stream_.msg != nullptr ? stream_.msg : "gzip data are damaged");
    }
    return State::inside;
  }

 private:
  z_stream stream_{};
};

class Bzip2 : public Decompressor {
 public:
  using Decompressor::Decompressor;
  ~Bzip2() override {
    if (open_) BZ2_bzDecompressEnd(&stream_);
  }

 protected:
  bool restart(Bytes in) override {
    if (sniff_compression(in) != Compression::bzip2) return false;
    if (open_) BZ2_bzDecompressEnd(&stream_);
    open_ = false;
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
    open_ = true;
    return true;
  }

  State step(Bytes& in, std::span<std::byte>& out, bool) override {
    stream_.next_in = const_cast<char*>(reinterpret_cast<const char*>(in.data()));
    stream_.avail_in = clamp_to_unsigned(in.size());
    stream_.next_out = reinterpret_cast<char*>(out.data());
    stream_.avail_out = clamp_to_unsigned(out.size());
    const unsigned in_before = stream_.avail_in;
    const unsigned out_before = stream_.avail_out;
    const int result = BZ2_bzDecompress(&stream_);
    in = in.subspan(in_before - stream_.avail_in);
    out = out.subspan(out_before - stream_.avail_out);
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    if (result == BZ_STREAM_END) return State::between_parts;
    if (result != BZ_OK) fail("bzip2 data are damaged");
    return State::inside;
  }

 private:
  bz_stream stream_{};
  bool open_ = false;
};

class Xz : public Decompressor {
 public:
  using Decompressor::Decompressor;
  ~Xz() override { lzma_end(&stream_); }

 protected:
  bool restart(Bytes in) override {
    if (sniff_compression(in) != Compression::xz) return false;
    if (lzma_stream_decoder(&stream_, kMaxMemory, 0) != LZMA_OK) throw std::bad_alloc();
    return true;
  }

  State step(Bytes& in, std::span<std::byte>& out, bool) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    in = in.subspan(in.size() - stream_.avail_in);
    out = out.subspan(out.size() - stream_.avail_out);
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (result == LZMA_STREAM_END) return State::between_parts;
    if (result == LZMA_MEMLIMIT_ERROR) {
      fail(fmt::format("it needs {} MiB of memory, at most {} are allowed",
                       lzma_memusage(&stream_) >> 20, kMaxMemory >> 20));
    }
    if (result != LZMA_OK && result != LZMA_BUF_ERROR) fail("xz data are damaged");
    return State::inside;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Zstd : public Decompressor {
 public:
  Zstd(ByteStream& in, std::string path)
      : Decompressor(in, std::move(path)), context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, 28);  // kMaxMemory
  }

 protected:
  bool restart(Bytes in) override {
    if (in.size() < 4) return false;
    const bool skippable = (load<std::uint32_t>(in.data()) & 0xfffffff0u) == 0x184d2a50u;
    return skippable || sniff_compression(in) == Compression::zstd;
  }

  State step(Bytes& in, std::span<std::byte>& out, bool) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(context_.get(), &to, &from);
    if (ZSTD_isError(result)) fail(ZSTD_getErrorName(result));
    in = in.subspan(from.pos);
    out = out.subspan(to.pos);
    return result == 0 ? State::between_parts : State::inside;
  }

 private:
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_;
};

bool begins_with(Bytes bytes, std::initializer_list<int> magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(),
                    [](int a, std::byte b) { return a == std::to_integer<int>(b); });
}

}  // namespace

const char* compression_name(Compression compression) {
  static constexpr std::array kNames = {"none", "gzip", "xz", "zstd", "bzip2"};
  return kNames[static_cast<std::size_t>(compression)];
}

Compression sniff_compression(Bytes first) {
  if (begins_with(first, {0x1f, 0x8b, 0x08})) return Compression::gzip;
  if (begins_with(first, {0xfd, '7', 'z', 'X', 'Z', 0x00})) return Compression::xz;
  if (begins_with(first, {0x28, 0xb5, 0x2f, 0xfd})) return Compression::zstd;
  const bool level = first.size() > 3 && first[3] >= std::byte{'1'} && first[3] <= std::byte{'9'};
  if (level && begins_with(first, {'B', 'Z', 'h'})) return Compression::bzip2;
  return Compression::none;
}

std::unique_ptr<ByteStream> decompress(ByteStream& in, Compression compression, std::string path) {
  switch (compression) {
    case Compression::gzip:
      return std::make_unique<Gzip>(in, std::move(path));
    case Compression::xz:
      return std::make_unique<Xz>(in, std::move(path));
    case Compression::zstd:
      return std::make_unique<Zstd>(in, std::move(path));
    case Compression::bzip2:
      return std::make_unique<Bzip2>(in, std::move(path));
    case Compression::none:
      break;
  }
  throw Error(ErrorCode::argument, {.file = path}, "it is not compressed");
}

}  // namespace tundish
