#include "data/pack/write/appender.h"

#include "base/error.h"
#include "codec/lanes/tables.h"
#include "data/pack/checksum.h"
#include "data/pack/metadata.h"

namespace tundish {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::uint64_t kGuessedKeyBytes = 48;

// Returns the end of a record that follows byte `at`; empty on overflow.
std::optional<std::uint64_t> end_of_record(std::uint64_t at, const Row& row,
                                           std::uint64_t alignment) {
  std::optional<std::uint64_t> end = align_up(at, alignment);
  const auto piece = [&](std::uint64_t bytes) {
    if (end) end = tundish::add(*end, bytes);
    if (end) end = tundish::add(*end, kCrcBytes);
  };
  for (const std::uint64_t length : row.lengths) piece(length);
  if (row.info.codec == Codec::lanes) piece(row.restore);
  return end;
}

}  // namespace

ByteAppender::ByteAppender(PartialFile& file) : file_(file) { buffer_.reserve(kBufferBytes); }

void ByteAppender::put(Bytes bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes) {
    write(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void ByteAppender::pad(std::uint64_t alignment) {
  while (at() % alignment != 0) put_word(std::uint8_t{0});
}

void ByteAppender::flush() {
  write(buffer_);
  buffer_.clear();
}

void ByteAppender::write(Bytes bytes) {
  file_.write_at(bytes, written_);
  digest_.add(bytes);
  written_ += bytes.size();
}

bool ByteAppender::restore(std::uint64_t end, const PackId& digest) {
  Digest next = digest_;
  buffer_.resize(kBufferBytes);
  bool whole = true;
  for (std::uint64_t at = written_; whole && at < end;) {
    const std::span<std::byte> part(buffer_.data(),
                                    std::min<std::uint64_t>(kBufferBytes, end - at));
    whole = file_.read_at(part, at) == part.size();
    next.add(part);
    at += part.size();
  }
  buffer_.clear();
  if (!whole || next.value() != digest) return false;
  digest_ = next;
  written_ = end;
  return true;
}

Appender::Appender(const std::string& target, bool replace, const std::string& leaf,
                   const Schema& schema)
    : schema_(schema), file_(target, replace, leaf), out_(file_), names_(target) {
  index_.length.resize(stored_fields(schema));
  for (const Field& field : schema.fields) {
    if (field.array) head_.incompatible |= kFeatureArrays;
  }
  id_.add(schema_json(schema));
}

void Appender::reserve(std::uint64_t records, std::uint64_t bytes, bool lanes) {
  file_.reserve(bytes + records * (head_.alignment / 2 + kGuessedKeyBytes) +
                index_bytes(records, stored_fields(schema_), lanes).value_or(0));
}

void Appender::add(const Prepared& prepared, const Row& row) {
  out_.pad(head_.alignment);
  std::size_t column = 0;
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    if (schema_.fields[f].type == FieldType::label) continue;
    out_.put(prepared.sample.fields[f]);
    out_.put_word(prepared.crc[column++]);
  }
  if (row.info.codec == Codec::lanes) {
    out_.put(prepared.restore);
    out_.put_word(prepared.restore_crc);
  }
  note(row);
}

void Appender::note(const Row& row) {
  for (std::size_t column = 0; column < index_.length.size(); ++column) {
    index_.length[column].push_back(row.lengths[column]);
  }
  if (row.info.codec == Codec::lanes) head_.incompatible |= kFeatureLanes;
  index_.restore.push_back(row.restore);
  index_.label.push_back(row.info.label);
  index_.width.push_back(row.info.width);
  index_.height.push_back(row.info.height);
  index_.codec.push_back(static_cast<std::uint8_t>(row.info.codec));
  index_.orientation.push_back(row.info.orientation);
  id_.add(row.digest);
  names_.add(row.key);
}

bool Appender::restore(const std::vector<Row>& rows, std::uint64_t end, const PackId& digest) {
  std::optional<std::uint64_t> at = out_.at();
  for (const Row& row : rows) {
    if (!row.refusal && at) at = end_of_record(*at, row, head_.alignment);
  }
  if (at != end || !out_.restore(end, digest)) return false;
  for (const Row& row : rows) {
    if (!row.refusal) note(row);
  }
  return true;
}

std::uint64_t Appender::bytes_with(const Row& row, std::uint64_t section_bytes) const {
  constexpr std::uint64_t kPadding = 6 * kSectionAlignment;
  const std::uint64_t names = names_.bytes_with(row.key);
  const auto index = index_bytes(records() + 1, index_.length.size(), true);
  const auto record = end_of_record(out_.at(), row, head_.alignment);
  if (!index || !record) return ~std::uint64_t{0};
  return *record + *index + names + section_bytes + kPadding + kTailBytes;
}

void Appender::write_sections(Tail& tail, const std::string& metadata,
                              const lanes::Tables* tables) {
  const auto section = [&](Section& out, const auto& body) {
    out_.pad(kSectionAlignment);
    out.offset = out_.at();
    body();
    out.bytes = out_.at() - out.offset;
  };
  section(tail.metadata, [&] {
    const Bytes bytes = std::as_bytes(std::span(metadata));
    out_.put(bytes);
    out_.put_word(piece_crc(kNoRecord, kMetadataPiece, bytes));
  });
  // A pack without lanes must not differ from one written before lanes existed.
  const bool lanes = head_.incompatible & kFeatureLanes;
  if (!lanes) index_.restore.clear();
  section(tail.tables, [&] {
    std::vector<std::byte> bytes;
    if (lanes) bytes = lanes::compress_tables(*tables);
    out_.put(bytes);
    out_.put_word(piece_crc(kNoRecord, kTablesPiece, bytes));
  });
  section(tail.names, [&] { out_.put(names_.bytes()); });
  section(tail.index, [&] { for_each_column(index_, [&](Bytes part) { out_.put(part); }); });
  out_.pad(kSectionAlignment);
  out_.flush();
}

SealedPack Appender::seal(const std::string& metadata, const lanes::Tables* tables) {
  if (metadata.size() + kCrcBytes > kMaxMetadataBytes) {
    throw Error(ErrorCode::argument, {.file = file_.path()},
                "the class names take more than 100 MB");
  }
  sealed_ = true;
  names_.finish();
  index_.names_bytes = names_.block_bytes();
  Tail tail;
  write_sections(tail, metadata, tables);
  head_.id = tail.id = id_.value();
  tail.digest = out_.digest();
  tail.count = index_.count();
  tail.file_bytes = out_.at() + kTailBytes;
  file_.write_at(encode_tail(tail), out_.at());
  file_.write_at(encode_head(head_), 0);
  file_.seal(tail.file_bytes);
  return {tail.file_bytes, head_.id};
}

}  // namespace tundish
