// Many short texts in one block of memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tundish {

class StringTable {
 public:
  void add(std::string_view text) {
    text_ += text;
    ends_.push_back(text_.size());
  }

  std::size_t size() const { return ends_.size(); }
  std::uint64_t memory() const { return text_.capacity() + 8 * std::uint64_t{ends_.capacity()}; }

  // Valid until the next add().
  std::string_view operator[](std::size_t i) const {
    const std::uint64_t from = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(from, ends_[i] - from);
  }

 private:
  std::string text_;
  std::vector<std::uint64_t> ends_;  // a text begins where the previous text ends
};

}  // namespace tundish
