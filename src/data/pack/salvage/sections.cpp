#include "data/pack/salvage/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/interruption.h"
#include "data/pack/checksum.h"
#include "data/pack/metadata.h"
#include "data/pack/reader.h"
#include "data/pack/salvage/piece_search.h"

namespace tundish {
namespace {

constexpr std::string_view kMetadataStart = R"({"provenance":)";

class PartReader {
 public:
  PartReader(const ByteFile& file, const Schema* like) : file_(file), window_(file), like_(like) {}

  IntactParts read() {
    read_head();
    std::optional<Tail> tail = read_tail();
    if (!tail) tail = find_sections();
    if (!tail) return std::move(out_);
    if (!out_.schema) read_metadata(tail->metadata);
    if (!out_.tables) read_tables(tail->tables);
    read_index_section(*tail);
    read_names(*tail);
    return std::move(out_);
  }

 private:
  void lose(std::string text) { out_.lost.push_back(std::move(text)); }

  void read_head() {
    Head head;
    const Bytes bytes = window_.at(0, kHeadBytes);
    if (const auto fault = decode_head(head, bytes.first(std::min(bytes.size(), kHeadBytes)))) {
      lose("the head: " + fault->reason);
    } else {
      out_.head = head;
    }
  }

  std::optional<Tail> read_tail() {
    Tail tail;
    std::array<std::byte, kTailBytes> bytes{};
    if (file_.size() < kHeadBytes + kTailBytes) {
      lose("the tail: the file ends before it");
      return std::nullopt;
    }
    file_.read_at(bytes, file_.size() - kTailBytes);
    if (const auto fault = decode_tail(tail, bytes, file_.size())) {
      lose("the tail: " + fault->reason);
      return std::nullopt;
    }
    out_.records_end = tail.metadata.offset;
    out_.count = tail.count;
    return tail;
  }

  // Returns the payload of a section; empty if its checksum is wrong.
  std::optional<std::vector<std::byte>> section(const Section& place, std::uint32_t piece,
                                                std::uint64_t most) {
    if (place.bytes < kCrcBytes || place.bytes > most + kCrcBytes) return std::nullopt;
    std::vector<std::byte> bytes(place.bytes);
    if (file_.read_at(bytes, place.offset) != bytes.size()) return std::nullopt;
    const auto stored = load<std::uint32_t>(bytes.data() + bytes.size() - kCrcBytes);
    bytes.resize(bytes.size() - kCrcBytes);
    if (piece_crc(kNoRecord, piece, bytes) != stored) return std::nullopt;
    return bytes;
  }

  void read_metadata(const Section& place) {
    const auto json = section(place, kMetadataPiece, kMaxMetadataBytes);
    Schema schema;
    if (json &&
        !parse_metadata(schema, {reinterpret_cast<const char*>(json->data()), json->size()})) {
      out_.schema = schema;
    } else {
      lose("the metadata: they fail their checksum");
    }
  }

  void read_tables(const Section& place) {
    out_.tables = section(place, kTablesPiece, kMaxTablesBytes);
    if (!out_.tables) lose("the tables of the lanes codec: they fail their checksum");
  }

  // Works without a tail: finds the metadata by their first bytes, later sections by checksums.
  std::optional<Tail> find_sections() {
    Tail tail;
    if (!find_metadata(tail.metadata)) {
      lose("metadata, names and index: the file ends before them, or they are damaged");
      return std::nullopt;
    }
    out_.records_end = tail.metadata.offset;
    read_metadata(tail.metadata);
    if (!find_section(tail.tables, after(tail.metadata), kTablesPiece, kMaxTablesBytes)) {
      lose("tables, names and index: the file ends before them, or they are damaged");
      return std::nullopt;
    }
    read_tables(tail.tables);
    find_names(tail);
    return out_.count ? std::optional(tail) : std::nullopt;
  }

  static std::uint64_t after(const Section& place) {
    return align_up(place.offset + place.bytes, kSectionAlignment).value_or(~std::uint64_t{0});
  }

  bool find_section(Section& out, std::uint64_t begin, std::uint32_t piece, std::uint64_t most) {
    const std::array<std::uint64_t, 1> owner = {kNoRecord};
    const auto end =
        find_piece_end(window_, begin, piece, owner, most, [](const PieceEnd&) { return true; });
    if (end) out = {begin, end->payload_end + kCrcBytes - begin};
    return end.has_value();
  }

  bool find_metadata(Section& out) {
    for (std::uint64_t at = kHeadBytes; at < file_.size();) {
      check_stop(file_.path());
      const Bytes bytes = window_.at(at, 1 << 16);
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      const std::size_t found = text.find(kMetadataStart);
      if (found == std::string_view::npos) {
        // The start may straddle the end of the searched bytes.
        if (bytes.size() < kMetadataStart.size()) return false;
        at += bytes.size() - kMetadataStart.size() + 1;
        continue;
      }
      at += found;
      if (at % kSectionAlignment == 0 && find_section(out, at, kMetadataPiece, kMaxMetadataBytes)) {
        return true;
      }
      ++at;
    }
    return false;
  }

  // Reads blocks of names until none follows; their number then gives the number of records.
  void find_names(Tail& tail) {
    tail.names.offset = after(tail.tables);
    std::uint64_t at = tail.names.offset, count = 0;
    for (std::uint64_t block = 0;; ++block) {
      std::vector<std::string> names;
      const std::uint64_t bytes = find_block(names, at, block);
      if (bytes == 0) break;
      at += bytes;
      count += names.size();
      const bool full = names.size() == kNamesPerBlock;
      out_.names.emplace_back(std::move(names));
      if (!full) break;
    }
    if (count == 0) {
      lose("names and index: the file ends before them, or they are damaged");
      return;
    }
    out_.count = tail.count = count;
    tail.names.bytes = at - tail.names.offset;
    tail.index.offset = after(tail.names);
    const auto lanes = out_.tables && !out_.tables->empty();
    const Schema* schema = out_.schema ? &*out_.schema : like_;
    const auto bytes = schema ? index_bytes(count, stored_fields(*schema), lanes) : std::nullopt;
    if (bytes && tail.index.offset <= file_.size() && *bytes <= file_.size() - tail.index.offset) {
      tail.index.bytes = *bytes;
    }
  }

  // Returns the bytes of the block of up to 1024 names at this place; 0: no block. One pass: a
  // block of fewer names starts with the same bytes, and its checksum marks its end.
  std::uint64_t find_block(std::vector<std::string>& out, std::uint64_t at, std::uint64_t block) {
    const std::array<std::uint64_t, 1> owner = {block};
    const auto is_block = [&](const PieceEnd& end) {
      std::vector<std::byte> bytes(end.payload_end + kCrcBytes - at);
      if (file_.read_at(bytes, at) != bytes.size()) return false;
      std::uint64_t sum = kCrcBytes;
      for (std::uint64_t count = 1; count <= kNamesPerBlock && 4 * count < bytes.size(); ++count) {
        sum += 4 + load<std::uint32_t>(bytes.data() + 4 * (count - 1));
        if (sum == bytes.size()) return !decode_names(out, bytes, block, count);
      }
      return false;
    };
    const auto end = find_piece_end(window_, at, kNamesPiece, owner, kMaxNamesBytes, is_block);
    return end ? end->payload_end + kCrcBytes - at : 0;
  }

  void read_index_section(const Tail& tail) {
    const Schema* schema = out_.schema ? &*out_.schema : like_;
    if (!schema) return lose("the index: it cannot be read without the metadata");
    const bool lanes = tail.tables.bytes > kCrcBytes;
    const std::size_t stored = stored_fields(*schema);
    Index index;
    if (index_bytes(tail.count, stored, lanes) != tail.index.bytes) {
      return lose("the index: its size does not fit the number of records and fields");
    }
    if (const auto fault =
            tundish::read_index(index, file_, tail.index.offset, tail.count, stored, lanes)) {
      return lose("the index: " + fault->reason);
    }
    out_.index = std::move(index);
  }

  void read_names(const Tail& tail) {
    if (!out_.names.empty()) return;  // found without a tail
    std::uint64_t at = tail.names.offset;
    const std::uint64_t blocks = names_blocks(tail.count);
    for (std::uint64_t block = 0; block < blocks && out_.index; ++block) {
      const std::uint64_t bytes = out_.index->names_bytes[block];
      const std::uint64_t end = tail.names.offset + tail.names.bytes;
      if (at > end || bytes > end - at || bytes > kMaxNamesBytes) break;
      std::vector<std::byte> all(bytes);
      std::vector<std::string> names;
      const std::uint64_t count = std::min(kNamesPerBlock, tail.count - block * kNamesPerBlock);
      const bool intact =
          file_.read_at(all, at) == bytes && !decode_names(names, all, block, count);
      if (!intact)
        lose(fmt::format("names of records {} to {}", block * kNamesPerBlock,
                         block * kNamesPerBlock + count - 1));
      out_.names.push_back(intact ? std::optional(std::move(names)) : std::nullopt);
      at += bytes;
    }
    for (std::uint64_t block = 0; block < blocks && !out_.index; ++block) {
      std::vector<std::string> names;
      const std::uint64_t bytes = find_block(names, at, block);
      if (bytes == 0) return lose(fmt::format("names from record {} on", block * kNamesPerBlock));
      out_.names.emplace_back(std::move(names));
      at += bytes;
    }
  }

  const ByteFile& file_;
  ByteWindow window_;
  const Schema* like_;
  IntactParts out_;
};

}  // namespace

const std::string* IntactParts::name(std::uint64_t record) const {
  const std::uint64_t block = record / kNamesPerBlock, place = record % kNamesPerBlock;
  if (block >= names.size() || !names[block] || place >= names[block]->size()) return nullptr;
  return &(*names[block])[place];
}

IntactParts read_intact_parts(const ByteFile& file, const Schema* like) {
  return PartReader(file, like).read();
}

}  // namespace tundish
