// Numbers and texts in a block of the journal. The reader accepts any bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tundish {

class WireWriter {
 public:
  template <std::integral T>
  void word(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    store(bytes_.data() + at, value);
  }
  void raw(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void text(std::string_view text) {
    word(std::uint64_t{text.size()});
    raw(std::as_bytes(std::span(text)));
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::vector<std::byte> bytes_;
};

// After the first value that the bytes do not hold, every value is zero or empty and failed() is
// true; callers check failed() once, at the end.
class WireReader {
 public:
  explicit WireReader(Bytes bytes) : rest_(bytes) {}

  template <std::integral T>
  T word() {
    const Bytes bytes = raw(sizeof(T));
    return bytes.empty() ? T{} : load<T>(bytes.data());
  }
  Bytes raw(std::uint64_t count) {
    if (count > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const Bytes out = rest_.first(count);
    rest_ = rest_.subspan(count);
    return out;
  }
  std::string text() {
    const Bytes bytes = raw(word<std::uint64_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  bool failed() const { return failed_; }
  Bytes rest() const { return rest_; }

 private:
  Bytes rest_;
  bool failed_ = false;
};

}  // namespace tundish
