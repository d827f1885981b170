// Reads a .tnd file. Checks everything before use, and sizes before memory is allocated.
// docs/internals/format.md is the specification; docs/read_tnd.py is a simple reader in Python.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codec/lanes/tables.h"
#include "data/pack/byte_file.h"
#include "data/pack/format.h"
#include "data/pack/index.h"
#include "data/pack/stored_records.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/source.h"

namespace tundish {

class Pack : public Source, public StoredRecords, public FileTimes {
 public:
  // Reads and checks head, tail, metadata and index; no record. Throws Error 101 to 108, 3xx, 5xx.
  static std::shared_ptr<const Pack> open(const std::string& path);
  static std::shared_ptr<const Pack> open(std::unique_ptr<const ByteFile> file);

  std::uint64_t count() const override { return index_.count(); }
  const Schema& schema() const override { return schema_; }
  SampleInfo info(std::uint64_t i) const override;
  std::string key(std::uint64_t i) const override;  // reads a block of names, caches the last one
  std::string path() const override { return file_->path(); }
  std::uint64_t bytes(std::uint64_t i) const override;  // payload bytes, without checksums
  std::uint64_t memory() const override;                // the index
  bool extent(std::uint64_t i, int field, Extent& out) const override;
  // Returns a lanes record unchecked: each part that can be decoded alone has a checksum, which
  // the decoder checks.
  void read(Sample& out, std::uint64_t i, FieldSet fields = kAllFields) const override;
  using Source::read_original;
  void read_original(Sample& out, std::uint64_t i, FieldSet fields,
                     const Limits& limits) const override;
  void read_stored(Sample& out, std::vector<std::byte>& restore, std::uint64_t i) const override;
  const lanes::Tables* tables(std::uint64_t) const override { return tables_.get(); }
  std::string fingerprint() const override { return hex(id()); }  // the pack id
  std::string file_times() const override { return file_->times(); }

  std::uint64_t file_bytes() const { return file_->size(); }
  std::uint64_t record_offset(std::uint64_t i) const;
  std::uint64_t field_bytes(std::uint64_t i, int field) const;  // payload, without checksum
  std::uint64_t restore_bytes(std::uint64_t i) const;           // 0 unless a lanes record
  Section names_block(std::uint64_t block) const;               // 1024 keys, with checksum
  std::uint32_t alignment() const { return head_.alignment; }
  const PackId& id() const { return head_.id; }
  const std::string& metadata() const { return metadata_; }  // the JSON as stored

  // Runs all checks: each piece, the padding, the digest of the file, the pack id. Calls `bad` for
  // each damaged record or part and continues. Calls `progress` with bytes done; returning false
  // stops the check. If only the digest of a damaged file is wrong, reports one digest_differs.
  void verify(const std::function<void(const Error&)>& bad,
              const std::function<bool(std::uint64_t)>& progress = {}) const;

 private:
  friend class Verification;  // verify(), part by part
  Pack() = default;
  void parse();
  void parse_ends();
  void parse_metadata_section();
  void parse_index();
  void check_arrays() const;
  void parse_names_blocks();
  // Throws the fault of a leaf function, `offset` bytes into the file.
  void check(const std::optional<Fault>& fault, std::uint64_t offset) const;
  [[noreturn]] void index_is_wrong(std::string reason) const;
  std::vector<std::byte> read_section(const Section& section, std::uint32_t piece,
                                      ErrorCode code) const;
  void check_number(std::uint64_t i) const;
  std::uint64_t piece_offset(std::uint64_t i, int column) const;
  bool is_image(std::size_t field) const { return schema_.fields[field].type == FieldType::image; }
  void read_fields(Sample& out, std::uint64_t i, FieldSet fields, bool check_lanes) const;
  std::uint64_t read_restore(std::vector<std::byte>& out,
                             std::uint64_t i) const;  // returns its offset
  void read_piece(std::vector<std::byte>& out, std::uint64_t i, std::uint64_t offset,
                  std::uint64_t length, std::uint32_t piece, const std::string& name,
                  bool check) const;
  void parse_tables();
  // Returns names of records block * kNamesPerBlock, ...; throws Error(index_damaged).
  std::vector<std::string> read_names(std::uint64_t block) const;

  std::unique_ptr<const ByteFile> file_;
  Head head_;
  Tail tail_;
  std::string metadata_;
  Schema schema_;
  std::vector<int> columns_;  // per field: its column of index_.length, -1 for the label
  Index index_;
  std::unique_ptr<const lanes::Tables> tables_;  // nullptr in a pack without lanes
  std::vector<std::uint64_t> offsets_;           // per record, then the end of the last record
  std::vector<std::uint64_t> names_offsets_;     // per block

  mutable std::mutex names_mutex_;  // guards the two members below
  mutable std::uint64_t names_block_ = ~std::uint64_t{0};
  mutable std::vector<std::string> names_;
};

// Decodes a block of `count` names with its checksum. Faults: index_damaged.
std::optional<Fault> decode_names(std::vector<std::string>& out, Bytes block, std::uint64_t number,
                                  std::uint64_t count);

}  // namespace tundish
