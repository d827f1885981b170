// For tests: makes tar archives, valid or invalid.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tundish {

class TarMaker {
 public:
  enum class Format { v7, ustar, gnu };

  explicit TarMaker(Format format = Format::ustar) : format_(format) {}

  // `size_field`: 12 bytes that replace the true size.
  TarMaker& add(std::string_view name, std::string_view data, char type = '0',
                std::string_view size_field = {}) {
    std::string header(512, '\0');
    std::string_view base = name;
    if (name.size() > 100 && format_ == Format::ustar) {
      const std::size_t slash = name.rfind('/', 155);
      header.replace(345, slash, name.substr(0, slash));
      base = name.substr(slash + 1);
    }
    header.replace(0, std::min<std::size_t>(base.size(), 100), base.substr(0, 100));
    header.replace(100, 8, std::string_view("0000644\0", 8));
    header.replace(
        124, 12,
        size_field.empty() ? fmt::format("{:011o} ", data.size()) : std::string(size_field));
    header.replace(136, 12, "00000000000 ");
    header[156] = type;
    if (format_ == Format::ustar)
      header.replace(257, 8,
                     std::string_view("ustar\0"
                                      "00",
                                      8));
    if (format_ == Format::gnu) header.replace(257, 8, std::string_view("ustar  \0", 8));
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
    text_ += header;
    text_ += data;
    text_.append((512 - data.size() % 512) % 512, '\0');
    return *this;
  }

  TarMaker& pax(std::string_view key, std::string_view value, char type = 'x') {
    return add("PaxHeaders/x", pax_record(key, value), type);
  }

  TarMaker& long_name(std::string_view name) {
    return add("././@LongLink", std::string(name) + '\0', 'L');
  }

  std::string end() const { return text_ + std::string(1024, '\0'); }
  const std::string& without_end() const { return text_; }

  static std::string pax_record(std::string_view key, std::string_view value) {
    std::size_t length = key.size() + value.size() + 3;
    for (std::size_t digits = 0; digits != std::to_string(length).size();) {
      digits = std::to_string(length).size();
      length = key.size() + value.size() + 3 + digits;
    }
    return fmt::format("{} {}={}\n", length, key, value);
  }

 private:
  Format format_;
  std::string text_;
};

inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::string text_of(Bytes bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace tundish
