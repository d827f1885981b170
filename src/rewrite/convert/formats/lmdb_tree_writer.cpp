#include "rewrite/convert/formats/lmdb_tree_writer.h"

#include <stdexcept>

#include "base/bytes.h"

namespace tundish {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHead = 16;     // page head: number, padding, flags, bounds
constexpr std::size_t kNodeHead = 8;  // entry head: size of the value or page, flags, key's size
constexpr std::uint16_t kBranch = 1, kLeaf = 2, kOverflow = 4, kMeta = 8;
constexpr std::uint16_t kBigData = 1;  // the value has its own pages
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
// The value of a larger entry gets its own pages, so that at least two entries fit into a page.
constexpr std::size_t kMaxNode = (((kPage - kHead) / 2) & ~std::size_t{1}) - 2;

std::string page_head(std::uint64_t number, std::uint16_t flags, std::uint32_t bounds) {
  std::string out;
  append(out, number);
  append(out, std::uint16_t{0});
  append(out, flags);
  append(out, bounds);
  return out;
}

// Encodes an entry of a leaf or a branch; a branch stores a page number as size and flags.
std::string node(std::uint64_t head, std::string_view key, std::string_view data) {
  std::string out;
  append(out, static_cast<std::uint32_t>(head));
  append(out, static_cast<std::uint16_t>(head >> 32));
  append(out, static_cast<std::uint16_t>(key.size()));
  out += key;
  out += data;
  if (out.size() % 2 != 0) out += '\0';  // entries begin at even offsets
  return out;
}

// Encodes entries, sorted by key, as a whole page.
std::string page_of(std::uint64_t number, std::uint16_t flags,
                    const std::vector<std::string>& entries) {
  std::string data;
  std::string places;
  std::size_t at = kPage;
  for (const std::string& entry : entries) {
    at -= entry.size();
    append(places, static_cast<std::uint16_t>(at));
    data.insert(0, entry);
  }
  const auto lower = static_cast<std::uint32_t>(kHead + places.size());
  const auto upper = static_cast<std::uint32_t>(at);
  std::string out = page_head(number, flags, lower | upper << 16) + places;
  out.resize(at, '\0');
  return out + data;
}

}  // namespace

LmdbTreeWriter::LmdbTreeWriter(OutputStream& out) : out_(out) { out_.write_zeros(2 * kPage); }

std::uint64_t LmdbTreeWriter::write_value(std::string_view value) {
  const std::uint64_t first = next_page_;
  const std::size_t pages = (kHead + value.size() + kPage - 1) / kPage;
  out_.write(page_head(first, kOverflow, static_cast<std::uint32_t>(pages)));
  out_.write(value);
  out_.write_zeros(pages * kPage - kHead - value.size());
  next_page_ += pages;
  overflow_pages_ += pages;
  return first;
}

void LmdbTreeWriter::add(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kMaxLmdbKey || value.size() > kMaxLmdbValue ||
      (count_ > 0 && key <= last_key_)) {
    throw std::logic_error("LMDB: a key that is too long or not after the one before");
  }
  std::string entry;
  if (kNodeHead + key.size() + value.size() > kMaxNode) {
    std::string place;
    append(place, write_value(value));
    entry = node(value.size() | std::uint64_t{kBigData} << 32, key, place);
  } else {
    entry = node(value.size(), key, value);
  }
  if (kHead + used_ + entry.size() + 2 > kPage) write_leaf();
  if (entries_.empty()) first_key_ = key;
  used_ += entry.size() + 2;
  entries_.push_back(std::move(entry));
  last_key_ = key;
  ++count_;
}

void LmdbTreeWriter::write_leaf() {
  out_.write(page_of(next_page_, kLeaf, entries_));
  leaves_.push_back({first_key_, next_page_++});
  entries_.clear();
  used_ = 0;
}

// Writes one tree level above `children`. The first entry of a page needs no key. Each page has at
// least two entries, as liblmdb expects.
std::vector<LmdbTreeWriter::Child> LmdbTreeWriter::write_branches(
    const std::vector<Child>& children) {
  std::vector<Child> out;
  for (std::size_t first = 0; first < children.size();) {
    std::vector<std::string> entries = {node(children[first].page, "", "")};
    std::size_t used = kHead + entries[0].size() + 2;
    std::size_t next = first + 1;
    for (; next < children.size(); ++next) {
      std::string entry = node(children[next].page, children[next].key, "");
      if (used + entry.size() + 2 > kPage) break;
      used += entry.size() + 2;
      entries.push_back(std::move(entry));
    }
    if (next + 1 == children.size()) {  // the last entry would be alone
      entries.pop_back();
      --next;
    }
    out_.write(page_of(next_page_, kBranch, entries));
    out.push_back({children[first].key, next_page_++});
    ++branch_pages_;
    first = next;
  }
  return out;
}

void LmdbTreeWriter::write_heads(std::uint64_t root, std::uint16_t depth) {
  const std::uint64_t leaf_pages = leaves_.size();
  for (const std::uint64_t transaction : {0u, 1u}) {
    const bool empty = transaction == 0;  // the state before the first transaction
    std::string page = page_head(transaction, kMeta, 0);
    append(page, std::uint32_t{0xbeefc0de});
    append(page, std::uint32_t{1});  // data version
    append(page, std::uint64_t{0});  // address
    append(page, next_page_ * kPage);
    // Two tables: free pages (empty; its keys are numbers), and the data.
    append(page, static_cast<std::uint32_t>(kPage));
    append(page, std::uint16_t{8});
    append(page, std::uint16_t{0});
    for (int n = 0; n < 4; ++n) append(page, std::uint64_t{0});
    append(page, kNoPage);
    append(page, std::uint32_t{0});
    append(page, std::uint16_t{0});
    append(page, empty ? std::uint16_t{0} : depth);
    for (const std::uint64_t n : {branch_pages_, leaf_pages, overflow_pages_, count_}) {
      append(page, empty ? std::uint64_t{0} : n);
    }
    append(page, empty ? kNoPage : root);
    append(page, empty ? std::uint64_t{1} : next_page_ - 1);  // the last page
    append(page, transaction);
    page.resize(kPage, '\0');
    out_.rewrite(std::as_bytes(std::span(page)), transaction * kPage);
  }
}

void LmdbTreeWriter::finish() {
  if (!entries_.empty()) write_leaf();
  std::vector<Child> level = leaves_;
  std::uint16_t depth = level.empty() ? 0 : 1;
  for (; level.size() > 1; ++depth) level = write_branches(level);
  write_heads(level.empty() ? kNoPage : level[0].page, depth);
}

}  // namespace tundish
