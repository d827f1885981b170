#include "data/source/formats/records/recordio_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "data/source/arrays/copy_bytes.h"
#include "data/source/format.h"
#include "data/source/formats/records/record_index.h"
#include "data/source/memory_stream.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr unsigned kWhole = 0, kFirst = 1, kMiddle = 2, kLast = 3;

Fault damaged(std::string reason, std::uint64_t offset) {
  return damaged_source("RecordIO", std::move(reason), offset);
}

// Appends to the first bytes of the data, up to the size of a header.
void append_head(RecordIoRecord& out, Bytes bytes) {
  if (out.size >= kIrHeaderBytes) return;
  const std::size_t room = kIrHeaderBytes - static_cast<std::size_t>(out.size);
  std::copy_n(bytes.begin(), std::min(room, bytes.size()),
              out.head.begin() + static_cast<std::ptrdiff_t>(out.size));
}

std::optional<std::uint64_t> read_digits(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::optional<Fault> find_twice(const StringTable& names) {
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (names[order[i]] != names[order[i - 1]]) continue;
    return damaged(fmt::format("key '{}' occurs twice", printable(std::string(names[order[i]]))),
                   0);
  }
  return std::nullopt;
}

}  // namespace

bool RecordIoReader::fail(std::string reason, std::uint64_t offset) {
  fault_ = damaged(std::move(reason), offset);
  return false;
}

bool RecordIoReader::read_part(RecordIoRecord& out, unsigned& kind) {
  std::array<std::byte, 8> words;
  const std::uint64_t at = in_.offset();
  const std::size_t got = in_.read(words);
  if (got < words.size()) return fail("the head of the last record is cut off", at);
  const auto magic = load<std::uint32_t>(words.data());
  if (magic != kRecordIoMagic) {
    return fail(fmt::format("no record begins here: {:08x} instead of ced7230a", magic), at);
  }
  const auto word = load<std::uint32_t>(words.data() + 4);
  kind = word >> 29;
  const std::uint64_t length = word & ((1u << 29) - 1);
  const std::uint64_t padded = (length + 3) / 4 * 4;
  std::array<std::byte, kIrHeaderBytes> first;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(length, first.size()));
  std::uint64_t present = in_.read(std::span(first).first(wanted));
  if (present == wanted) present += in_.skip(padded - wanted);
  if (present < length) {
    return fail(fmt::format("the last record is cut off: {} bytes of {}", with_commas(present),
                            with_commas(length)),
                at);
  }
  append_head(out, Bytes(first).first(wanted));
  out.size += length;
  out.stored += words.size() + present;  // the last record may lack its padding
  return true;
}

bool RecordIoReader::next(RecordIoRecord& out) {
  if (fault_ || in_.left() == std::uint64_t{0}) return false;
  out = {.offset = in_.offset()};
  unsigned kind = 0;
  if (!read_part(out, kind)) return false;
  if (kind == kWhole) return true;
  if (kind != kFirst) return fail("a record begins with a part that is not its first", out.offset);
  while (kind != kLast) {
    std::array<std::byte, 4> magic;
    store(magic.data(), kRecordIoMagic);
    append_head(out, magic);
    out.size += magic.size();
    const std::uint64_t at = in_.offset();
    if (!read_part(out, kind)) return false;
    if (kind != kMiddle && kind != kLast) {
      return fail("a record of several parts has no last part", at);
    }
  }
  return true;
}

std::optional<Fault> join_recordio(std::vector<std::byte>& out, Bytes stored) {
  MemoryStream stream(stored);
  RecordIoReader reader(stream);
  RecordIoRecord record;
  out.clear();
  if (!reader.next(record)) {
    return reader.fault() ? reader.fault() : damaged("a record is empty", 0);
  }
  if (record.stored != stored.size()) return damaged("a record has bytes behind its end", 0);
  out.reserve(static_cast<std::size_t>(record.size));
  for (std::size_t at = 0; at + 8 <= stored.size();) {
    if (at > 0) out.insert(out.end(), stored.begin(), stored.begin() + 4);  // the magic
    const auto length = load<std::uint32_t>(stored.data() + at + 4) & ((1u << 29) - 1);
    const Bytes data = stored.subspan(at + 8, length);
    append_bytes(out, data);
    at += 8 + (std::size_t{length} + 3) / 4 * 4;
  }
  return std::nullopt;
}

IrHeader read_ir_header(Bytes head) {
  return {.flag = load<std::uint32_t>(head.data()),
          .label = std::bit_cast<float>(load<std::uint32_t>(head.data() + 4)),
          .id = load<std::uint64_t>(head.data() + 8),
          .id2 = load<std::uint64_t>(head.data() + 16)};
}

std::optional<Fault> parse_recordio_keys(RecordIoKeys& out, std::string_view text) {
  out = {};
  std::uint64_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    ++line;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = trim(text.substr(at, end - at), " \r");
    const std::uint64_t here = at;
    at = end + 1;
    if (row.empty()) continue;
    const std::size_t tab = row.find('\t');
    const auto offset = tab == row.npos ? std::nullopt : read_digits(row.substr(tab + 1));
    std::string name = clean_path(row.substr(0, tab));
    while (name.starts_with("../")) name.erase(0, 3);
    name.erase(0, name.find_first_not_of('/'));
    if (!offset || !is_clean_key(name)) {
      return damaged(fmt::format("line {} is not KEY<tab>OFFSET", line), here);
    }
    if (out.offsets.size() == kMaxRecords) {
      return unsupported_source("RecordIO", "it has over 50 million keys", here);
    }
    out.names.add(name);
    out.offsets.push_back(*offset);
  }
  return find_twice(out.names);
}

}  // namespace tundish
