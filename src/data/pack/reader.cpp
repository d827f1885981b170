#include "data/pack/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "codec/decode/decode.h"
#include "codec/decode/jpeg_limits.h"
#include "codec/lanes/transcode.h"
#include "data/pack/checksum.h"
#include "data/pack/metadata.h"

namespace tundish {

std::shared_ptr<const Pack> Pack::open(const std::string& path) {
  try {
    return open(std::make_unique<DiskBytes>(File::open(path)));
  } catch (const Error& error) {
    // A folder or a pipe: neither permissions nor the disk are the cause.
    if (error.code() != ErrorCode::source_unreadable) throw;
    throw Error(ErrorCode::not_a_pack, {.file = path}, error.reason());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::no_memory, {.file = path}, "the index does not fit into memory");
  }
}

std::shared_ptr<const Pack> Pack::open(std::unique_ptr<const ByteFile> file) {
  const std::shared_ptr<Pack> pack(new Pack);
  pack->file_ = std::move(file);
  pack->parse();
  return pack;
}

void Pack::parse() {
  parse_ends();
  parse_metadata_section();
  const bool lanes = head_.incompatible & kFeatureLanes;
  if (lanes) {
    parse_tables();
  } else if (tail_.tables.bytes != kCrcBytes) {
    index_is_wrong("there are codec tables, but no codec that has some");
  }
  parse_index();
  parse_names_blocks();
}

void Pack::check(const std::optional<Fault>& fault, std::uint64_t offset) const {
  if (fault) throw Error(*fault, {.file = path(), .offset = offset});
}

void Pack::index_is_wrong(std::string reason) const {
  throw Error(Fault{ErrorCode::index_damaged, std::move(reason), 0},
              {.file = path(), .offset = tail_.index.offset});
}

void Pack::parse_ends() {
  const std::uint64_t size = file_->size();
  std::array<std::byte, kHeadBytes> head;
  check(decode_head(head_, Bytes(head).first(file_->read_at(head, 0))), 0);
  if (size < kHeadBytes + kTailBytes) {
    check(Fault{ErrorCode::incomplete, "the file is shorter than a head and a tail", 0}, size);
  }
  const std::uint64_t tail_offset = size - kTailBytes;
  std::array<std::byte, kTailBytes> tail{};
  file_->read_at(tail, tail_offset);
  check(decode_tail(tail_, tail, size), tail_offset);
  if (tail_.id != head_.id) {
    check(Fault{ErrorCode::tail_damaged, "head and tail belong to different packs", 88},
          tail_offset);
  }
}

void Pack::parse_metadata_section() {
  if (tail_.metadata.bytes > kMaxMetadataBytes) {
    check(Fault{ErrorCode::metadata_damaged,
                fmt::format("{} bytes, at most {} are allowed", with_commas(tail_.metadata.bytes),
                            with_commas(kMaxMetadataBytes)),
                0},
          tail_.metadata.offset);
  }
  const std::vector<std::byte> json =
      read_section(tail_.metadata, kMetadataPiece, ErrorCode::metadata_damaged);
  metadata_.assign(reinterpret_cast<const char*>(json.data()), json.size());
  check(parse_metadata(schema_, metadata_), tail_.metadata.offset);
  columns_ = columns_of(schema_);
  const bool arrays = std::any_of(schema_.fields.begin(), schema_.fields.end(),
                                  [](const Field& field) { return field.array.has_value(); });
  if (arrays != ((head_.incompatible & kFeatureArrays) != 0)) {
    check(Fault{ErrorCode::metadata_damaged, "the head and the fields disagree about arrays", 0},
          tail_.metadata.offset);
  }
}

// Arrays of one shape have one length; a sample may lack the array.
void Pack::check_arrays() const {
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    const Field& field = schema_.fields[f];
    if (!field.array) continue;
    const std::uint64_t bytes = array_bytes(*field.array).value_or(0);
    const auto& lengths = index_.length[static_cast<std::size_t>(columns_[f])];
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] == 0 || lengths[i] == bytes) continue;
      index_is_wrong(fmt::format("record {} has {} bytes of {}, which is {}", with_commas(i),
                                 with_commas(lengths[i]), printable(field.name),
                                 array_text(*field.array)));
    }
  }
}

// Also computes where each record begins.
void Pack::parse_index() {
  const bool lanes = head_.incompatible & kFeatureLanes;
  const std::size_t stored = stored_fields(schema_);
  if (index_bytes(tail_.count, stored, lanes) != tail_.index.bytes) {
    index_is_wrong(fmt::format("{} records with {} stored fields cannot have an index of {} bytes",
                               with_commas(tail_.count), stored, with_commas(tail_.index.bytes)));
  }
  check(read_index(index_, *file_, tail_.index.offset, tail_.count, stored, lanes),
        tail_.index.offset);
  auto offsets = record_offsets(index_, head_.alignment, tail_.metadata.offset);
  if (!offsets || align_up(offsets->back(), kSectionAlignment) != tail_.metadata.offset) {
    index_is_wrong("the records do not end where the metadata begin");
  }
  offsets_ = std::move(*offsets);
  check_arrays();
}

// Computes where each block of names begins; the names themselves are read on demand.
void Pack::parse_names_blocks() {
  const std::uint64_t end_of_names = tail_.names.offset + tail_.names.bytes;
  names_offsets_.reserve(index_.names_bytes.size() + 1);
  std::uint64_t next = tail_.names.offset;
  for (const std::uint64_t bytes : index_.names_bytes) {
    names_offsets_.push_back(next);
    if (bytes > kMaxNamesBytes) index_is_wrong("a block of names is too large");
    const auto end = add(next, bytes);
    if (!end || *end > end_of_names) {
      index_is_wrong("the blocks of names overlap what follows them");
    }
    next = *end;
  }
  names_offsets_.push_back(next);
  if (next != end_of_names) index_is_wrong("the blocks of names leave a hole");
}

void Pack::parse_tables() {
  const auto fail = [&](std::string reason) {
    throw Error(ErrorCode::metadata_damaged, {.file = path(), .offset = tail_.tables.offset},
                std::move(reason));
  };
  if (tail_.tables.bytes > kMaxTablesBytes) {
    fail(fmt::format("codec tables of {} bytes", with_commas(tail_.tables.bytes)));
  }
  const std::vector<std::byte> bytes =
      read_section(tail_.tables, kTablesPiece, ErrorCode::metadata_damaged);
  auto tables = std::make_unique<lanes::Tables>();
  if (const auto fault = lanes::expand_tables(*tables, bytes)) fail(fault->reason);
  tables_ = std::move(tables);
}

std::vector<std::byte> Pack::read_section(const Section& section, std::uint32_t piece,
                                          ErrorCode code) const {
  const auto fail = [&](std::string reason) {
    throw Error(code, {.file = path(), .offset = section.offset}, std::move(reason));
  };
  if (section.bytes < kCrcBytes) fail("the section is too short for its checksum");
  std::vector<std::byte> bytes(section.bytes);
  if (file_->read_at(bytes, section.offset) != bytes.size()) {
    fail("the file became shorter while it was read");
  }
  const std::size_t payload = bytes.size() - kCrcBytes;
  const auto stored = load<std::uint32_t>(bytes.data() + payload);
  bytes.resize(payload);
  const std::uint32_t computed = piece_crc(kNoRecord, piece, bytes);
  if (stored != computed) {
    fail(fmt::format("checksum: stored {:08x}, read {:08x}", stored, computed));
  }
  return bytes;
}

void Pack::check_number(std::uint64_t i) const {
  if (i < count()) return;
  throw Error(ErrorCode::no_such_record, {.file = path(), .record = i},
              fmt::format("there are {}, counted from 0", with_commas(count())));
}

SampleInfo Pack::info(std::uint64_t i) const {
  check_number(i);
  return index_.info(i);
}

std::uint64_t Pack::bytes(std::uint64_t i) const {
  check_number(i);
  std::uint64_t sum = 0;
  for (const auto& column : index_.length) sum += column[i];
  return sum + restore_bytes(i);
}

std::uint64_t Pack::memory() const {
  const std::uint64_t per_record = 8 * index_.length.size() + 8 + 2 * 4 + 2 + 8 + 8;
  return (1 << 20) + metadata_.size() + per_record * count();  // plus the tables of lanes
}

std::uint64_t Pack::record_offset(std::uint64_t i) const {
  check_number(i);
  return offsets_[i];
}

std::uint64_t Pack::field_bytes(std::uint64_t i, int field) const {
  check_number(i);
  const int column = columns_.at(static_cast<std::size_t>(field));
  return column < 0 ? 0 : index_.length[static_cast<std::size_t>(column)][i];
}

std::uint64_t Pack::restore_bytes(std::uint64_t i) const {
  check_number(i);
  return index_.restore.empty() ? 0 : index_.restore[i];
}

Section Pack::names_block(std::uint64_t block) const {
  check_number(block * kNamesPerBlock);
  return {names_offsets_[block], index_.names_bytes[block]};
}

std::uint64_t Pack::piece_offset(std::uint64_t i, int column) const {
  std::uint64_t offset = offsets_[i];
  for (std::size_t before = 0; before < static_cast<std::size_t>(column); ++before) {
    offset += index_.length[before][i] + kCrcBytes;
  }
  return offset;
}

bool Pack::extent(std::uint64_t i, int field, Extent& out) const {
  check_number(i);
  const int column = columns_.at(static_cast<std::size_t>(field));
  if (column < 0) return false;
  out = {path(), piece_offset(i, column), field_bytes(i, field)};
  return true;
}

void Pack::read_piece(std::vector<std::byte>& out, std::uint64_t i, std::uint64_t offset,
                      std::uint64_t length, std::uint32_t piece, const std::string& name,
                      bool check) const {
  const auto fail = [&](ErrorCode code, std::string reason) {
    out.clear();
    throw SampleError(code,
                      {.file = path(), .record = i, .key = key_or_nothing(i), .offset = offset},
                      std::move(reason));
  };
  // parse() checked length and offset against the size of the file, but a sparse file can claim
  // any size.
  if (length > Limits{}.max_bytes) {
    fail(ErrorCode::image_too_large,
         fmt::format("field {}: {} bytes, at most {} are allowed", name, with_commas(length),
                     with_commas(Limits{}.max_bytes)));
  }
  out.resize(length + kCrcBytes);
  std::size_t got = 0;
  try {
    got = file_->read_at(out, offset);
  } catch (const Error& error) {
    fail(error.code(), error.reason());
  }
  if (got != out.size()) {
    fail(ErrorCode::record_cut_off,
         fmt::format("{} of {} bytes are left", with_commas(got), with_commas(out.size())));
  }
  const auto stored = load<std::uint32_t>(out.data() + length);
  out.resize(length);
  if (!check) return;
  const std::uint32_t computed = piece_crc(i, piece, out);
  if (stored != computed) {
    fail(ErrorCode::record_checksum,
         fmt::format("field {}: stored {:08x}, read {:08x}", name, stored, computed));
  }
}

void Pack::read(Sample& out, std::uint64_t i, FieldSet fields) const {
  read_fields(out, i, fields, false);
}

void Pack::read_stored(Sample& out, std::vector<std::byte>& restore, std::uint64_t i) const {
  read_fields(out, i, kAllFields, true);
  restore.clear();
  if (index_.is_lanes(i)) read_restore(restore, i);
}

std::uint64_t Pack::read_restore(std::vector<std::byte>& out, std::uint64_t i) const {
  const std::uint64_t offset = piece_offset(i, static_cast<int>(index_.length.size()));
  read_piece(out, i, offset, index_.restore[i], kRestorePiece, "restore data", true);
  return offset;
}

void Pack::read_fields(Sample& out, std::uint64_t i, FieldSet fields, bool check_lanes) const {
  check_number(i);
  out.fields.resize(columns_.size());
  for (std::size_t field = 0; field < columns_.size(); ++field) {
    const int column = columns_[field];
    if (column < 0 || !(fields >> field & 1)) {
      out.fields[field].clear();
      continue;
    }
    read_piece(out.fields[field], i, piece_offset(i, column),
               index_.length[static_cast<std::size_t>(column)][i],
               static_cast<std::uint32_t>(field), printable(schema_.fields[field].name),
               check_lanes || !(is_image(field) && index_.is_lanes(i)));
  }
}

void Pack::read_original(Sample& out, std::uint64_t i, FieldSet fields,
                         const Limits& limits) const {
  read(out, i, fields);
  const int image = schema_.find(FieldType::image);
  if (image < 0 || !(fields >> image & 1) || !index_.is_lanes(i)) return;
  std::vector<std::byte> restore;
  const std::uint64_t restore_at = read_restore(restore, i);
  const auto check = [&](const std::optional<Fault>& fault, std::uint64_t offset) {
    if (!fault) return;
    throw SampleError(*fault,
                      {.file = path(), .record = i, .key = key_or_nothing(i), .offset = offset});
  };
  std::vector<std::byte>& bytes = out.fields[static_cast<std::size_t>(image)];
  thread_local lanes::Decoder decoder;
  lanes::Coefficients coefficients;
  check(lanes::decode_within(coefficients, bytes, *tables_, decoder, jpeg_limits(limits)),
        piece_offset(i, columns_[static_cast<std::size_t>(image)]));
  std::vector<std::byte> original;
  check(lanes::restore_from(original, coefficients, restore, jpeg_limits(limits)), restore_at);
  bytes.swap(original);
}

std::optional<Fault> decode_names(std::vector<std::string>& out, Bytes block, std::uint64_t number,
                                  std::uint64_t count) {
  const auto damaged = [&](const std::string& reason) {
    return Fault{ErrorCode::index_damaged, fmt::format("block {} of names: {}", number, reason), 0};
  };
  if (block.size() < 4 * count + kCrcBytes) return damaged("too short");
  const Bytes payload = block.first(block.size() - kCrcBytes);
  const auto stored = load<std::uint32_t>(block.data() + payload.size());
  const std::uint32_t computed = piece_crc(number, kNamesPiece, payload);
  if (stored != computed) {
    return damaged(fmt::format("checksum: stored {:08x}, read {:08x}", stored, computed));
  }
  Bytes names = payload.subspan(4 * count);
  out.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = load<std::uint32_t>(payload.data() + 4 * i);
    if (length > names.size()) return damaged("a name reaches beyond the block");
    out.emplace_back(reinterpret_cast<const char*>(names.data()), length);
    names = names.subspan(length);
  }
  if (!names.empty()) return damaged("there are bytes after the last name");
  return std::nullopt;
}

std::vector<std::string> Pack::read_names(std::uint64_t block) const {
  const std::uint64_t first = block * kNamesPerBlock;
  std::vector<std::byte> bytes(index_.names_bytes[block]);
  std::vector<std::string> names;
  auto fault = file_->read_at(bytes, names_offsets_[block]) == bytes.size()
                   ? decode_names(names, bytes, block, std::min(kNamesPerBlock, count() - first))
                   : Fault{ErrorCode::index_damaged, "the file became shorter", 0};
  if (fault) throw Error(*fault, {.file = path(), .offset = names_offsets_[block]});
  return names;
}

std::string Pack::key(std::uint64_t i) const {
  check_number(i);
  const std::lock_guard lock(names_mutex_);
  if (names_block_ != i / kNamesPerBlock) {
    names_ = read_names(i / kNamesPerBlock);
    names_block_ = i / kNamesPerBlock;
  }
  return names_[i % kNamesPerBlock];
}

}  // namespace tundish
