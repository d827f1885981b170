#include "pack/write/appender.h"

#include "core/error.h"
#include "lanes/tables.h"
#include "pack/checksum.h"
#include "pack/metadata.h"

namespace tundish {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::uint64_t kGuessedKeyBytes = 48;

}  // namespace

ByteAppender::ByteAppender(OutputFile& file) : file_(file) { buffer_.reserve(kBufferBytes); }

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

Appender::Appender(const std::string& target, bool replace, const Schema& schema)
    : target_(target), schema_(schema), file_(target, replace), out_(file_), names_(target) {
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

void Appender::add(const Prepared& prepared) {
  out_.pad(head_.alignment);
  std::size_t column = 0;
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    if (schema_.fields[f].type == FieldType::label) continue;
    const std::vector<std::byte>& bytes = prepared.sample.fields[f];
    out_.put(bytes);
    out_.put_word(prepared.crc[column]);
    index_.length[column].push_back(bytes.size());
    ++column;
  }
  if (prepared.info.codec == Codec::lanes) {
    out_.put(prepared.restore);
    out_.put_word(prepared.restore_crc);
    head_.incompatible |= kFeatureLanes;
  }
  index_.restore.push_back(prepared.restore.size());
  index_.label.push_back(prepared.info.label);
  index_.width.push_back(prepared.info.width);
  index_.height.push_back(prepared.info.height);
  index_.codec.push_back(static_cast<std::uint8_t>(prepared.info.codec));
  index_.orientation.push_back(prepared.info.orientation);
  id_.add(prepared.digest);
  names_.add(prepared.key);
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
  // A pack without lanes looks as if they did not exist.
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

void Appender::finish(PackReport& report, const std::string& metadata,
                      const lanes::Tables* tables) {
  if (metadata.size() + kCrcBytes > kMaxMetadataBytes) {
    throw Error(ErrorCode::argument, {.file = target_}, "the class names take more than 100 MB");
  }
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
  report.file_bytes = tail.file_bytes;
  report.id = hex(head_.id);
  file_.commit(tail.file_bytes);  // the last step: behind it nothing may fail
}

}  // namespace tundish
