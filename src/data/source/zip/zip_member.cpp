// Unpacks members of zip archives.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/interruption.h"
#include "data/source/format.h"
#include "data/source/zip/zip_directory.h"

namespace tundish {
namespace {

constexpr std::size_t kStep = 256 << 10;

// zlib's state, always freed.
struct Inflate {
  z_stream stream = {};
  bool ready = inflateInit2(&stream, -15) == Z_OK;  // -15: without zlib's header
  Inflate() = default;
  ~Inflate() {
    if (ready) inflateEnd(&stream);
  }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;
};

// Returns true if the deflated bytes give exactly out.size() bytes.
bool inflate_into(std::span<std::byte> out, const ByteStore& store, const ZipMember& member) {
  Inflate state;
  if (!state.ready) throw Error(ErrorCode::no_memory, {.file = store.path()}, "");
  std::vector<std::byte> input(kStep);
  std::uint64_t read = 0;
  std::size_t done = 0;
  std::array<std::byte, 1> behind;  // detects excess bytes
  for (;;) {
    check_stop(store.path());
    if (state.stream.avail_in == 0) {
      const auto some =
          static_cast<std::size_t>(std::min<std::uint64_t>(kStep, member.packed - read));
      if (some == 0) return false;
      store.read_at(std::span(input).first(some), member.offset + read);
      read += some;
      state.stream.next_in = reinterpret_cast<Bytef*>(input.data());
      state.stream.avail_in = static_cast<uInt>(some);
    }
    const std::span<std::byte> room = done < out.size() ? out.subspan(done) : std::span(behind);
    const auto space = static_cast<uInt>(std::min<std::size_t>(room.size(), 1u << 30));
    state.stream.next_out = reinterpret_cast<Bytef*>(room.data());
    state.stream.avail_out = space;
    const int result = inflate(&state.stream, Z_NO_FLUSH);
    const std::size_t made = space - state.stream.avail_out;
    if (result == Z_MEM_ERROR) throw Error(ErrorCode::no_memory, {.file = store.path()}, "");
    if (made > 0 && done == out.size()) return false;
    done += made;
    if (result == Z_STREAM_END) return done == out.size();
    if (result != Z_OK && result != Z_BUF_ERROR) return false;
  }
}

}  // namespace

std::optional<Fault> read_zip_member(std::vector<std::byte>& out, const ByteStore& store,
                                     const ZipMember& member, const char* format,
                                     std::uint64_t& left) {
  const auto fault = [&](const char* reason) {
    return damaged_source(
        format, fmt::format("zip: member '{}' {}", printable(member.name), reason), member.offset);
  };
  // Each deflated byte gives at most 1,032 bytes.
  if (!member.stored() && member.size / 1032 > member.packed + 1) {
    return fault("cannot be as large as its header says");
  }
  if (member.size > left) {
    return unsupported_source(
        format,
        fmt::format("member '{}' has {} bytes, of which at most {} are unpacked into memory: write "
                    "it without compression (numpy.savez, not savez_compressed)",
                    printable(member.name), with_commas(member.size), with_commas(left)),
        member.offset);
  }
  left -= member.size;
  out.resize(member.size);
  if (member.stored()) {
    store.read_at(out, member.offset);
  } else if (!inflate_into(out, store, member)) {
    return fault("cannot be unpacked");
  }
  if (!member.has_crc) return std::nullopt;
  uLong crc = 0;
  for (std::size_t at = 0; at < out.size(); at += kStep) {
    const std::size_t some = std::min(kStep, out.size() - at);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(&out[at]), static_cast<uInt>(some));
  }
  if (crc != member.crc) return fault("fails its checksum");
  return std::nullopt;
}

}  // namespace tundish
