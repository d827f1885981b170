// Writes the bytes of a JPEG, either copied or as bits of entropy-coded data.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "codec/lanes/jpeg_codes.h"

namespace tundish::lanes {

// Writes bits, high bits first, with a zero byte after every 0xff. The caller must provide room.
struct Bits {
  std::byte* to = nullptr;
  std::uint64_t held = 0;  // the low 64 - free bits
  int free = 64;

  // Appends the low `count` bits, 0 to 32; higher bits must be 0.
  void put(std::uint64_t bits, int count) {
    free -= count;
    if (free >= 0) [[likely]] {
      held = held << count | bits;
      return;
    }
    held = held << (count + free) | bits >> -free;
    put_held();
    free += 64;
    held = bits;  // bits already written are shifted out in time
  }

  // Writes a Codes entry, then the low `size` bits. Missing codes write garbage; the caller checks.
  void put_code(std::uint32_t entry, std::uint32_t bits, int size) {
    put(std::uint64_t{entry >> 8} << size | bits, static_cast<int>(entry & 255) + size);
  }

  std::uint32_t put_symbol(const Codes& codes, int run, int size) {
    const std::uint32_t entry = codes.of(run, size);
    put_code(entry, 0, 0);
    return entry;
  }

  // Writes the symbol of a run of zeros and a value, then the value. Returns the entry.
  std::uint32_t put_value(const Codes& codes, int run, int value) {
    const auto [bits, size] = value_bits(value);
    const std::uint32_t entry = codes.of(run, size);
    put_code(entry, bits, size);
    return entry;
  }

  // Fills the last byte with the low bits of `padding` and flushes all bits.
  void align(std::uint8_t padding) {
    const int missing = free % 8;
    put(padding & ((1u << missing) - 1), missing);
    while (free < 64) {
      put_byte(static_cast<std::uint8_t>(held >> (56 - free)));
      free += 8;
    }
    held = 0;
  }

 private:
  void put_byte(std::uint8_t byte) {
    *to++ = std::byte{byte};
    if (byte == 0xff) *to++ = std::byte{0};
  }

  void put_held() {
    constexpr std::uint64_t kHigh = 0x8080808080808080u;
    if ((held & kHigh & ~(held + 0x0101010101010101u)) == 0) [[likely]] {  // no byte is 0xff
      store(to, __builtin_bswap64(held));
      to += 8;
      return;
    }
    for (int shift = 56; shift >= 0; shift -= 8) put_byte(static_cast<std::uint8_t>(held >> shift));
  }
};

// The file written so far, in a vector longer than the written part, possibly above the maximum.
class Output {
 public:
  Output(std::vector<std::byte>& file, std::size_t max_bytes) : file_(file), max_bytes_(max_bytes) {
    file_.resize(std::min(file_.capacity(), max_bytes));
    to_ = file_.data();
  }

  std::byte* position() { return to_; }
  void set_position(std::byte* to) { to_ = to; }
  std::size_t written() const { return static_cast<std::size_t>(to_ - file_.data()); }
  const std::byte* end() const { return file_.data() + file_.size(); }

  // Makes room for `bytes` at position(), which may move; returns false above the maximum.
  bool make_room(std::ptrdiff_t bytes) {
    const std::size_t used = written();
    if (used > max_bytes_) return false;
    grow_to(used + static_cast<std::size_t>(bytes) + std::min(used, max_bytes_ - used));
    to_ = file_.data() + used;
    return true;
  }

  bool append(Bytes bytes) {
    const std::size_t used = written();
    if (used > max_bytes_ || bytes.size() > max_bytes_ - used) return false;
    grow_to(used + bytes.size());
    std::copy(bytes.begin(), bytes.end(), file_.begin() + static_cast<std::ptrdiff_t>(used));
    to_ = file_.data() + used + bytes.size();
    return true;
  }

  // Truncates the vector to the written part; returns false above the maximum.
  bool finish() {
    const std::size_t used = written();
    file_.resize(std::min(used, max_bytes_));
    return used <= max_bytes_;
  }

 private:
  // Growing without reserve() would double the vector, beyond the maximum.
  void grow_to(std::size_t bytes) {
    if (bytes <= file_.size()) return;
    file_.reserve(bytes);
    file_.resize(bytes);
  }

  std::vector<std::byte>& file_;
  std::size_t max_bytes_;
  std::byte* to_;
};

}  // namespace tundish::lanes
