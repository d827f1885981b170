// A file written from front to back in large pieces, which appears completely or not at all
// (data/pack/output_file.h). One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "data/pack/output_file.h"

namespace tundish {

// Appends the bytes of a number, little-endian.
template <class T>
  requires std::is_arithmetic_v<T>
void append(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

class OutputStream {
 public:
  // Throws like OutputFile. Without commit(), the destructor removes the file.
  OutputStream(const std::string& target, bool replace) : file_(target, replace) {}

  std::uint64_t offset() const { return flushed_ + buffer_.size(); }  // where write() will write
  void write(Bytes bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void write_zeros(std::size_t count);

  // Replaces bytes that were already written.
  void rewrite(Bytes bytes, std::uint64_t offset);

  void commit();

  // Same as OutputFile::complete().
  std::string complete();

 private:
  void flush();

  OutputFile file_;
  std::vector<std::byte> buffer_;
  std::uint64_t flushed_ = 0;
};

}  // namespace tundish
