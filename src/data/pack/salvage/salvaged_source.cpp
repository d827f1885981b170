// The found records as a source.
#include <fmt/format.h>

#include <algorithm>

#include "base/interruption.h"
#include "codec/decode/decode.h"
#include "codec/decode/jpeg_limits.h"
#include "codec/lanes/transcode.h"
#include "data/pack/checksum.h"
#include "data/pack/index.h"
#include "data/pack/salvage/salvage.h"
#include "data/pack/stored_records.h"
#include "data/source/disk_cache/file_times.h"

namespace tundish {
namespace {

class SalvagedSource : public Source, public StoredRecords, public FileTimes {
 public:
  SalvagedSource(std::shared_ptr<const ByteFile> file, Salvage found)
      : file_(std::move(file)), found_(std::move(found)), columns_(columns_of(found_.schema)) {}

  std::uint64_t count() const override { return found_.records.size(); }
  const Schema& schema() const override { return found_.schema; }
  SampleInfo info(std::uint64_t i) const override { return found_.records.at(i).info; }
  std::string key(std::uint64_t i) const override { return found_.records.at(i).key; }
  std::string path() const override { return file_->path(); }
  Where where(std::uint64_t i) const override {
    const FoundRecord& record = found_.records.at(i);
    return {.file = path(), .record = record.number, .key = record.key, .offset = record.offset};
  }
  std::uint64_t bytes(std::uint64_t i) const override {
    std::uint64_t sum = found_.records.at(i).restore;
    for (const std::uint64_t length : found_.records[i].lengths) sum += length;
    return sum;
  }
  const lanes::Tables* tables(std::uint64_t) const override { return found_.tables.get(); }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    std::vector<std::byte> restore;
    read_pieces(out, restore, i, fields);
  }

  using Source::read_original;
  void read_original(Sample& out, std::uint64_t i, FieldSet fields,
                     const Limits& limits) const override {
    std::vector<std::byte> restore;
    read_pieces(out, restore, i, fields);
    const int image = found_.schema.find(FieldType::image);
    if (image >= 0 && fields >> image & 1 && info(i).codec == Codec::lanes) {
      auto& bytes = out.fields[static_cast<std::size_t>(image)];
      bytes = restored(bytes, restore, i, limits);
    }
  }

  void read_stored(Sample& out, std::vector<std::byte>& restore, std::uint64_t i) const override {
    read_pieces(out, restore, i, kAllFields);
  }

  std::string file_times() const override { return file_->times(); }
  std::string fingerprint() const override {
    return fmt::format("salvaged {} {}", file_->size(), Source::fingerprint());
  }

 private:
  [[noreturn]] void fail(ErrorCode code, std::uint64_t i, std::string reason) const {
    throw SampleError(code, where(i), std::move(reason));
  }

  void read_pieces(Sample& out, std::vector<std::byte>& restore, std::uint64_t i,
                   FieldSet fields) const {
    const FoundRecord& record = found_.records.at(i);
    std::uint64_t at = record.offset;
    out.fields.resize(columns_.size());
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      out.fields[f].clear();
      if (columns_[f] < 0) continue;
      const std::uint64_t length = record.lengths[static_cast<std::size_t>(columns_[f])];
      if (fields >> f & 1) read_piece(out.fields[f], i, at, length, static_cast<std::uint32_t>(f));
      at += length + kCrcBytes;
    }
    restore.clear();
    if (record.info.codec == Codec::lanes)
      read_piece(restore, i, at, record.restore, kRestorePiece);
  }

  void read_piece(std::vector<std::byte>& out, std::uint64_t i, std::uint64_t at,
                  std::uint64_t length, std::uint32_t piece) const {
    if (length > Limits{}.max_bytes) fail(ErrorCode::image_too_large, i, "a field is over 256 MiB");
    if (at > file_->size() || length + kCrcBytes > file_->size() - at) {
      fail(ErrorCode::record_cut_off, i, "the file ends inside it");
    }
    out.resize(length + kCrcBytes);
    try {
      if (file_->read_at(out, at) != out.size()) {
        fail(ErrorCode::record_cut_off, i, "the file became shorter");
      }
    } catch (const SampleError&) {
      throw;
    } catch (const Error& error) {
      fail(error.code(), i, error.reason());  // a bad sector: other records may be intact
    }
    const auto stored = load<std::uint32_t>(out.data() + length);
    out.resize(length);
    const std::uint32_t computed = piece_crc(found_.records[i].number, piece, out);
    if (computed == stored) return;
    fail(ErrorCode::record_checksum, i,
         fmt::format("stored {:08x}, read {:08x}", stored, computed));
  }

  std::vector<std::byte> restored(Bytes image, Bytes restore, std::uint64_t i,
                                  const Limits& limits) const {
    if (!found_.tables)
      fail(ErrorCode::metadata_damaged, i, "the tables of the lanes codec are lost");
    lanes::Decoder decoder;
    lanes::Coefficients coefficients;
    std::vector<std::byte> out;
    auto fault =
        lanes::decode_within(coefficients, image, *found_.tables, decoder, jpeg_limits(limits));
    if (!fault) fault = lanes::restore_from(out, coefficients, restore, jpeg_limits(limits));
    if (fault) throw SampleError(fault->code, where(i), fault->reason);
    return out;
  }

  const std::shared_ptr<const ByteFile> file_;
  const Salvage found_;
  const std::vector<int> columns_;
};

// Fills the facts that an index would hold about the image; false if it cannot be restored.
bool read_info(SampleInfo& out, std::string& reason, const SalvagedSource& source, std::uint64_t i,
               Sample& sample, const Limits& limits) {
  const int image = source.schema().find(FieldType::image);
  if (image < 0) return true;
  try {
    source.read_original(sample, i, FieldSet{1} << image, limits);
  } catch (const SampleError& error) {
    reason = error.reason().empty() ? error.what() : error.reason();
    return false;
  }
  const Bytes bytes = sample.fields[static_cast<std::size_t>(image)];
  ImageHeader header;
  const bool raw = out.codec == Codec::raw;
  const auto fault = raw ? source.read_header(header, i, bytes, limits)
                         : tundish::read_header(header, bytes, limits);
  if (fault || header.width > kMaxImageSide || header.height > kMaxImageSide) return true;
  out.width = header.width;
  out.height = header.height;
  out.orientation =
      header.orientation >= 1 && header.orientation <= 8 ? header.orientation : std::uint8_t{1};
  return true;
}

}  // namespace

void read_image_headers(Salvage& found, const std::shared_ptr<const ByteFile>& file,
                        const Limits& limits) {
  const SalvagedSource source(file, found);
  std::vector<FoundRecord> intact;
  Sample sample;
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    check_stop(file->path());
    FoundRecord& record = found.records[i];
    std::string reason;
    if (read_info(record.info, reason, source, i, sample, limits)) {
      intact.push_back(std::move(record));
      continue;
    }
    if (record.info.codec == Codec::lanes && found.guessed_tables) {
      reason = "its JPEG is re-coded with tables that are lost, and other tables do not fit (" +
               reason + "); --like names a pack with the same tables";
    }
    found.lost.push_back({record.number, 1, std::move(reason)});
  }
  found.records = std::move(intact);
  std::sort(found.lost.begin(), found.lost.end(),
            [](const LostRecords& a, const LostRecords& b) { return a.first < b.first; });
}

std::shared_ptr<const Source> salvaged_source(std::shared_ptr<const ByteFile> file, Salvage found) {
  return std::make_shared<SalvagedSource>(std::move(file), std::move(found));
}

}  // namespace tundish
