#include "rewrite/convert/formats/tar_header.h"

#include <fmt/format.h>

namespace tundish {
namespace {

constexpr std::size_t kMaxName = 100;

std::string header(std::string_view name, std::uint64_t size, char type) {
  std::string out(kTarBlock, '\0');
  out.replace(0, std::min(name.size(), kMaxName), name.substr(0, kMaxName));
  out.replace(100, 8, std::string_view("0000644\0", 8));
  out.replace(108, 8, std::string_view("0000000\0", 8));
  out.replace(116, 8, std::string_view("0000000\0", 8));
  out.replace(124, 11, fmt::format("{:011o}", size));
  out.replace(136, 11, "00000000000");
  out.replace(148, 8, "        ");
  out[156] = type;
  out.replace(257, 8, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : out) sum += static_cast<unsigned char>(c);
  out.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return out;
}

// Returns "LENGTH KEY=VALUE\n", where LENGTH includes itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (length != rest + std::to_string(length).size()) {
    length = rest + std::to_string(length).size();
  }
  return fmt::format("{} {}={}\n", length, key, value);
}

std::string extended(char type, const std::string& record) {
  return header("pax", record.size(), type) + record +
         std::string(tar_padding(record.size()), '\0');
}

}  // namespace

std::string tar_file_head(std::string_view name, std::uint64_t size) {
  if (name.size() <= kMaxName) return header(name, size, '0');
  return extended('x', pax_record("path", name)) + header(name, size, '0');
}

std::string tar_comment(std::string_view text) {
  return extended('g', pax_record("comment", text));
}

}  // namespace tundish
