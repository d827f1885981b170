#include "codec/lanes/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/crc32c.h"
#include "codec/lanes/forward_arithmetic.h"
#include "codec/lanes/train.h"

namespace tundish::lanes {
namespace {

constexpr std::size_t kFixedBytes = 7;  // magic, kind, width, height
constexpr std::size_t kCrcBytes = 4;

// Code of a component's quantization table: 1 to 100 is libjpeg's luma table of that quality,
// 101 to 200 its chroma table, or:
constexpr std::uint8_t kBytesFollow = 0;    // 64 values of one byte, in zigzag order
constexpr std::uint8_t kWordsFollow = 201;  // 64 values of two bytes
constexpr std::uint8_t kAsBefore = 202;     // same as the previous component

Fault fault(ErrorCode code, std::string reason, std::size_t offset) {
  return {code, std::move(reason), offset};
}

// Returns the code of a table by comparing it with the standard tables of all qualities.
std::uint8_t find_standard(const Quantization& table, bool chroma) {
  for (int quality = 100; quality >= 1; --quality) {
    if (standard_quantization(quality, chroma) == table) {
      return static_cast<std::uint8_t>(quality + (chroma ? 100 : 0));
    }
  }
  return kBytesFollow;
}

void put_quantization(std::vector<std::byte>& out, const Coefficients& image, int c) {
  const Quantization& table = image.quantization[c];
  std::uint8_t code = kAsBefore;
  if (c == 0 || table != image.quantization[c - 1]) {
    code = find_standard(table, c > 0);
    if (code == kBytesFollow) code = find_standard(table, c == 0);
    if (code == kBytesFollow && *std::max_element(table.begin(), table.end()) > 255) {
      code = kWordsFollow;
    }
  }
  out.push_back(static_cast<std::byte>(code));
  for (const std::uint8_t place : kZigzag) {
    const std::uint16_t value = table[place];
    if (code == kBytesFollow || code == kWordsFollow) out.push_back(static_cast<std::byte>(value));
    if (code == kWordsFollow) out.push_back(static_cast<std::byte>(value >> 8));
  }
}

// Reads the table at `at` and advances `at`.
std::optional<Fault> read_quantization(Quantization* tables, int c, Bytes bytes, std::size_t& at) {
  const auto cut_off = [&] {
    return fault(ErrorCode::image_cut_off, "the record ends in its quantization tables", at);
  };
  if (at >= bytes.size()) return cut_off();
  const auto code = static_cast<std::uint8_t>(bytes[at++]);
  Quantization& table = tables[c];
  if (code == kAsBefore && c > 0) {
    table = tables[c - 1];
    return std::nullopt;
  }
  if (code >= 1 && code <= 200) {
    table = standard_quantization(code <= 100 ? code : code - 100, code > 100);
    return std::nullopt;
  }
  if (code != kBytesFollow && code != kWordsFollow) {
    return fault(ErrorCode::image_header,
                 fmt::format("no quantization table has the code {}", code), at - 1);
  }
  const std::size_t each = code == kWordsFollow ? 2 : 1;
  if (bytes.size() - at < 64 * each) return cut_off();
  for (const std::uint8_t place : kZigzag) {
    const std::byte* from = bytes.data() + at;
    table[place] = each == 2 ? load<std::uint16_t>(from) : load<std::uint8_t>(from);
    if (table[place] == 0) return fault(ErrorCode::image_header, "a quantizer is 0", at);
    at += each;
  }
  return std::nullopt;
}

std::uint32_t row_crc(std::uint32_t head_crc, int row, Bytes units) {
  std::array<std::byte, 8> prefix;
  store(prefix.data(), head_crc);
  store(prefix.data() + 4, static_cast<std::uint32_t>(row));
  return mask_crc(crc32c(units, crc32c(prefix)));
}

void put_crc(std::vector<std::byte>& out, std::uint32_t crc) {
  out.resize(out.size() + kCrcBytes);
  store(out.data() + out.size() - kCrcBytes, crc);
}

Fault wrong_checksum(const char* what, std::uint32_t stored, std::uint32_t computed,
                     std::size_t offset) {
  return fault(ErrorCode::record_checksum,
               fmt::format("{}: stored {:08x}, read {:08x}", what, stored, computed), offset);
}

}  // namespace

Quantization standard_quantization(int quality, bool chroma) {
  static const auto all = [] {
    std::array<std::array<Quantization, 101>, 2> out = {};
    for (int q = 1; q <= 100; ++q) {
      for (std::size_t i = 0; i < 64; ++i) {
        for (std::size_t c = 0; c < 2; ++c) {
          out[c][static_cast<std::size_t>(q)][i] =
              static_cast<std::uint16_t>(standard_quantizer(q, c == 1, static_cast<int>(i)));
        }
      }
    }
    return out;
  }();
  return all[chroma][static_cast<std::size_t>(quality)];
}

std::optional<RecordSize> read_size(Bytes bytes) {
  if (bytes.size() < kFixedBytes || !std::equal(kMagic, kMagic + 2, bytes.begin())) {
    return std::nullopt;
  }
  return RecordSize{load<std::uint16_t>(bytes.data() + 3), load<std::uint16_t>(bytes.data() + 5)};
}

std::optional<Fault> Record::read(Bytes bytes) {
  bytes_ = bytes;
  const std::optional<RecordSize> size = read_size(bytes);
  if (!size) return fault(ErrorCode::image_header, "not a lanes record", 0);
  const auto kind = static_cast<unsigned>(bytes[2]);
  if (size->width == 0 || size->height == 0 || (kind & 7) >= kSamplings || kind >> 6 != 0) {
    return fault(ErrorCode::image_header,
                 fmt::format("kind {}, {} x {} pixels", kind, size->width, size->height), 2);
  }
  head_.geometry = make_geometry(size->width, size->height, static_cast<Sampling>(kind & 7));
  head_.color = static_cast<Color>(kind >> 3 & 1);
  head_.set = static_cast<int>(kind >> 4 & 3);
  std::size_t at = kFixedBytes;
  for (int c = 0; c < head_.geometry.components; ++c) {
    if (auto found = read_quantization(head_.quantization, c, bytes, at)) return found;
  }

  // Every unit has at least its states, so the number of bytes bounds the memory.
  const auto units_x = static_cast<std::size_t>(head_.geometry.units_x);
  const auto units_y = static_cast<std::size_t>(head_.geometry.units_y);
  const std::size_t index_at = at;
  if ((bytes.size() - at) / (2 + kNarrowHeadBytes) < units_x * units_y) {
    return fault(ErrorCode::image_cut_off,
                 fmt::format("{} bytes cannot hold {} units", bytes.size(), units_x * units_y), at);
  }
  at += 2 * units_x * units_y;
  head_crc_ = mask_crc(crc32c(bytes.first(at)));
  const auto stored = load<std::uint32_t>(bytes.data() + at);
  if (stored != head_crc_) return wrong_checksum("head of the record", stored, head_crc_, at);
  at += kCrcBytes;

  offset_.resize((units_x + 1) * units_y);
  std::uint64_t offset = at;
  const std::byte* length = bytes.data() + index_at;
  for (std::size_t y = 0; y < units_y; ++y) {
    std::uint32_t* row = offset_.data() + y * (units_x + 1);
    for (std::size_t x = 0; x < units_x; ++x, length += 2) {
      row[x] = static_cast<std::uint32_t>(offset);
      offset += load<std::uint16_t>(length);
    }
    row[units_x] = static_cast<std::uint32_t>(offset);
    offset += kCrcBytes;
  }
  if (offset != bytes.size() || offset > 0xffffffff) {
    return fault(ErrorCode::image_cut_off,
                 fmt::format("its parts take {} bytes, there are {}", offset, bytes.size()), at);
  }
  return std::nullopt;
}

std::size_t Record::row_begin(int y) const {
  return offset_[static_cast<std::size_t>(y) *
                 (static_cast<std::size_t>(head_.geometry.units_x) + 1)];
}

std::optional<Fault> Record::check_rows(int y0, int y1) const {
  for (int y = y0; y < y1; ++y) {
    const std::size_t begin = row_begin(y);
    const std::size_t end =
        (y + 1 < head_.geometry.units_y ? row_begin(y + 1) : bytes_.size()) - kCrcBytes;
    const std::uint32_t computed = row_crc(head_crc_, y, bytes_.subspan(begin, end - begin));
    const auto stored = load<std::uint32_t>(bytes_.data() + end);
    if (stored != computed) return wrong_checksum("row of units", stored, computed, begin);
  }
  return std::nullopt;
}

Bytes Record::unit(int x, int y) const {
  const auto at =
      static_cast<std::size_t>(y) * (static_cast<std::size_t>(head_.geometry.units_x) + 1) +
      static_cast<std::size_t>(x);
  return bytes_.subspan(offset_[at], offset_[at + 1] - offset_[at]);
}

Fault Record::unit_fault(int x, int y) const {
  const Geometry& g = geometry();
  const auto at = unit(x, y).data() - bytes_.data();
  return fault(ErrorCode::image_damaged,
               fmt::format("the unit of {} x {} pixels at ({}, {}) cannot be decoded", g.unit_width,
                           g.unit_height, x * g.unit_width, y * g.unit_height),
               static_cast<std::size_t>(at));
}

bool RecordWriter::write(std::vector<std::byte>& out, const Coefficients& image,
                         const Tables& tables) {
  const Geometry& geometry = image.geometry;
  out.assign(kMagic, kMagic + 2);
  const int set = choose_set(image, tables, symbols_);
  out.push_back(static_cast<std::byte>(static_cast<unsigned>(geometry.sampling) |
                                       static_cast<unsigned>(image.color) << 3 |
                                       static_cast<unsigned>(set) << 4));
  out.resize(kFixedBytes);
  store(out.data() + 3, static_cast<std::uint16_t>(geometry.width));
  store(out.data() + 5, static_cast<std::uint16_t>(geometry.height));
  for (int c = 0; c < geometry.components; ++c) put_quantization(out, image, c);
  const std::size_t index_at = out.size();
  const auto units = static_cast<std::size_t>(geometry.units());
  out.resize(index_at + 2 * units + kCrcBytes);

  std::size_t unit = 0;
  std::vector<std::size_t> row_ends;
  for (int y = 0; y < geometry.units_y; ++y) {
    for (int x = 0; x < geometry.units_x; ++x, ++unit) {
      if (!find_symbols(symbols_, image, x, y)) return false;
      const std::size_t begin = out.size();
      encoder_.encode(out, symbols_, tables, set);
      const std::size_t length = out.size() - begin;
      if (length > 0xffff) return false;
      store(out.data() + index_at + 2 * unit, static_cast<std::uint16_t>(length));
    }
    row_ends.push_back(out.size());
    put_crc(out, 0);
  }
  const std::size_t rows_at = index_at + 2 * units + kCrcBytes;
  const std::uint32_t head_crc = mask_crc(crc32c(Bytes(out).first(rows_at - kCrcBytes)));
  store(out.data() + rows_at - kCrcBytes, head_crc);
  std::size_t begin = rows_at;
  for (std::size_t y = 0; y < row_ends.size(); ++y) {
    const Bytes row = Bytes(out).subspan(begin, row_ends[y] - begin);
    store(out.data() + row_ends[y], row_crc(head_crc, static_cast<int>(y), row));
    begin = row_ends[y] + kCrcBytes;
  }
  return true;
}

}  // namespace tundish::lanes
