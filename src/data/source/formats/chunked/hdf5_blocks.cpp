#include "data/source/formats/chunked/hdf5_blocks.h"

#include <algorithm>
#include <array>
#include <bit>

#include "data/source/format.h"

namespace tundish {
namespace {

constexpr std::uint64_t kSpare = 1 << 20;  // for small files whose blocks overlap by accident

struct Mixer {
  std::uint32_t a, b, c;

  void add(const std::byte* twelve) {
    a += load<std::uint32_t>(twelve);
    b += load<std::uint32_t>(twelve + 4);
    c += load<std::uint32_t>(twelve + 8);
  }

  void mix() {
    a = (a - c) ^ std::rotl(c, 4), c += b;
    b = (b - a) ^ std::rotl(a, 6), a += c;
    c = (c - b) ^ std::rotl(b, 8), b += a;
    a = (a - c) ^ std::rotl(c, 16), c += b;
    b = (b - a) ^ std::rotl(a, 19), a += c;
    c = (c - b) ^ std::rotl(b, 4), b += a;
  }

  std::uint32_t finish() {
    c = (c ^ b) - std::rotl(b, 14);
    a = (a ^ c) - std::rotl(c, 11);
    b = (b ^ a) - std::rotl(a, 25);
    c = (c ^ b) - std::rotl(b, 16);
    a = (a ^ c) - std::rotl(c, 4);
    b = (b ^ a) - std::rotl(a, 14);
    return (c ^ b) - std::rotl(b, 24);
  }
};

}  // namespace

Fault hdf5_damaged(const char* reason, std::uint64_t offset) {
  return damaged_source("HDF5", reason, offset);
}

std::uint32_t hdf5_checksum(Bytes bytes) {
  const std::uint32_t start = 0xdeadbeefu + static_cast<std::uint32_t>(bytes.size());
  Mixer mixer{start, start, start};
  if (bytes.empty()) return mixer.c;
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    mixer.add(bytes.data());
    mixer.mix();
  }
  std::array<std::byte, 12> last{};
  std::copy(bytes.begin(), bytes.end(), last.begin());
  mixer.add(last.data());
  return mixer.finish();
}

std::uint64_t load_sized(const std::byte* from, std::size_t bytes) {
  std::uint64_t out = 0;
  std::memcpy(&out, from, std::min(bytes, sizeof out));
  return out;
}

Hdf5Blocks::Hdf5Blocks(std::uint64_t file_size, ReadAt read)
    : file_size_(file_size),
      left_(std::min<std::uint64_t>(file_size, 1ull << 62) * 2 + kSpare),
      read_(std::move(read)) {}

std::optional<Fault> Hdf5Blocks::charge(std::uint64_t bytes, std::uint64_t offset) {
  if (bytes > left_) return hdf5_damaged("metadata are read twice: addresses overlap", offset);
  left_ -= bytes;
  return std::nullopt;
}

std::optional<Fault> Hdf5Blocks::read(std::vector<std::byte>& out, std::uint64_t offset,
                                      std::uint64_t bytes) {
  if (bytes > file_size_ || offset > file_size_ - bytes) {
    return hdf5_damaged("an address leads out of the file", offset);
  }
  if (auto fault = charge(bytes, offset)) return fault;
  out.resize(static_cast<std::size_t>(bytes));
  if (!read_(out, offset)) return hdf5_damaged("the file ends inside a block", offset);
  return std::nullopt;
}

std::optional<Fault> Hdf5Blocks::read_checked(std::vector<std::byte>& out, std::uint64_t offset,
                                              std::uint64_t bytes, std::string_view signature) {
  if (auto fault = read(out, offset, bytes)) return fault;
  const std::string_view start(reinterpret_cast<const char*>(out.data()), out.size());
  if (bytes < signature.size() + 4 || !start.starts_with(signature)) {
    return hdf5_damaged("a block has another signature", offset);
  }
  const Bytes content = Bytes(out).first(out.size() - 4);
  if (hdf5_checksum(content) != load<std::uint32_t>(out.data() + content.size())) {
    return hdf5_damaged("a block has another checksum", offset);
  }
  return std::nullopt;
}

}  // namespace tundish
