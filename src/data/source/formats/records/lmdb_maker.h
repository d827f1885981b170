// For tests: makes an LMDB data file of 512-byte pages, page by page.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tundish {

class LmdbMaker {
 public:
  static constexpr std::size_t kPage = 512;
  struct Node {
    std::string key = {}, value = {};  // in a leaf
    std::uint64_t page = 0;            // child of a branch, or first page of a long value
    std::uint32_t long_value = 0;      // bytes of a long value
    std::uint16_t flags = 0;
  };

  // Writes both heads (meta pages); the second is newer. The first page added next is page 2.
  LmdbMaker(std::uint64_t entries, std::uint64_t root, std::uint64_t last_page) {
    for (std::uint64_t number : {0u, 1u}) {
      std::string page(kPage, '\0');
      put(page, 0, number);
      put(page, 10, std::uint16_t{8});
      put(page, 16, std::uint32_t{0xbeefc0de});
      put(page, 20, std::uint32_t{1});
      put(page, 40, static_cast<std::uint32_t>(kPage));
      put(page, 120, number == 1 ? entries : 0);
      put(page, 128, number == 1 ? root : ~std::uint64_t{0});
      put(page, 136, last_page);
      put(page, 144, number);
      bytes += page;
    }
  }

  LmdbMaker& add(bool leaf, const std::vector<Node>& nodes) {
    std::string page(kPage, '\0');
    std::size_t upper = kPage;
    put(page, 0, std::uint64_t{bytes.size() / kPage});
    put(page, 10, static_cast<std::uint16_t>(leaf ? 2 : 1));
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const Node& node = nodes[n];
      std::string text(8, '\0');
      const bool is_long = node.long_value > 0;
      if (leaf) {
        put(text, 0, is_long ? node.long_value : static_cast<std::uint32_t>(node.value.size()));
        put(text, 4, static_cast<std::uint16_t>(node.flags | (is_long ? 1 : 0)));
      } else {
        put(text, 0, static_cast<std::uint32_t>(node.page));
      }
      put(text, 6, static_cast<std::uint16_t>(node.key.size()));
      text += node.key + node.value;
      if (is_long) {
        text.resize(text.size() + 8);
        put(text, text.size() - 8, node.page);
      }
      upper = (upper - text.size()) / 2 * 2;
      std::memcpy(page.data() + upper, text.data(), text.size());
      put(page, 16 + 2 * n, static_cast<std::uint16_t>(upper));
    }
    put(page, 12, static_cast<std::uint16_t>(16 + 2 * nodes.size()));
    put(page, 14, static_cast<std::uint16_t>(upper));
    bytes += page;
    return *this;
  }

  LmdbMaker& add_long(const std::string& value) {
    const std::size_t pages = (16 + value.size() + kPage - 1) / kPage;
    std::string text(16, '\0');
    put(text, 0, std::uint64_t{bytes.size() / kPage});
    put(text, 10, std::uint16_t{4});
    put(text, 12, static_cast<std::uint32_t>(pages));
    text += value;
    text.resize(pages * kPage);
    bytes += text;
    return *this;
  }

  template <class T>
  static void put(std::string& out, std::size_t at, T value) {
    std::memcpy(out.data() + at, &value, sizeof value);
  }

  std::string bytes;
};

}  // namespace tundish
