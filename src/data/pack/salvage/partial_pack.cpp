#include "data/pack/salvage/partial_pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "data/pack/index.h"
#include "data/pack/metadata.h"
#include "data/pack/output_target.h"
#include "data/pack/salvage/scan.h"
#include "data/pack/write/checkpoint.h"
#include "data/pack/write/journal.h"
#include "data/pack/write/shard_names.h"

namespace tundish {
namespace {

constexpr std::string_view kPartial = ".partial";
constexpr std::uint64_t kScannedBytes = 64 << 20;  // searched behind the journal's last record

bool is_file(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Returns the schema of the source, which is also the schema of the pack.
std::optional<Schema> schema_of(const PackIdentity& identity) {
  Schema out;
  std::string kind;
  bool found = false;
  for (const auto& [name, value] : identity) {
    if (name == "the kind of the source") kind = value;
    if (name != "the schema of the source") continue;
    found = !parse_metadata(out, fmt::format(R"({{"schema":{}}})", value));
  }
  if (!found) return std::nullopt;
  out.source = std::move(kind);
  return out;
}

class PartialRecords {
 public:
  PartialRecords(const std::shared_ptr<const ByteFile>& partial, const ByteFile& journal)
      : file_(partial), journal_(journal) {}

  // Returns false if the journal does not describe the records.
  bool read() {
    std::vector<std::byte> payload;
    if (!next(payload)) return false;
    const auto start = decode_start(payload);
    auto schema = start ? schema_of(start->identity) : std::nullopt;
    if (!schema) return false;
    out_.schema = std::move(*schema);
    out_.method = SalvageMethod::journal;
    if (!start->tables.empty()) {
      auto tables = std::make_shared<lanes::Tables>();
      if (lanes::expand_tables(*tables, start->tables)) return false;
      out_.tables = std::move(tables);
    }
    read_rows();
    drop_what_the_file_lacks();
    return true;
  }

  // True if the pack was killed just before the rename: the file then has its own index.
  bool is_finished_file() const {
    std::array<std::byte, kHeadBytes> bytes{};
    Head head;
    return out_.finished_shards > 0 && out_.records.empty() &&
           file_->read_at(bytes, 0) == bytes.size() && !decode_head(head, bytes);
  }

  // Finds records that were written after the last block. A reserved file ends in zeros.
  void scan_tail(const SalvageOptions& options) {
    if (!out_.lost.empty()) return;
    Salvage tail;
    tail.schema = out_.schema;
    tail.tables = out_.tables;
    std::vector<std::uint64_t> alignments = {64, 8};
    if (alignment_) alignments = {*alignment_};
    for (const std::uint64_t alignment : alignments) {
      auto records = scan_from(alignment, options);
      if (records.size() > tail.records.size()) tail.records = std::move(records);
    }
    const bool labels = out_.schema.find(FieldType::label) >= 0;
    for (FoundRecord& record : tail.records) {
      record.key = fmt::format("record-{:06}", record.number);
      record.key_is_lost = true;
      record.label_is_lost = labels;
    }
    read_image_headers(tail, file_, options.limits);
    std::move(tail.records.begin(), tail.records.end(), std::back_inserter(out_.records));
    std::move(tail.lost.begin(), tail.lost.end(), std::back_inserter(out_.lost));
  }

  Salvage take() { return std::move(out_); }

 private:
  bool next(std::vector<std::byte>& payload) {
    const auto read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
      return journal_.read_at(bytes, offset);
    };
    return read_journal_block(payload, place_, journal_.size(), read);
  }

  // Reads the records of the last shard. Earlier shards are in other files, which may be longer, so
  // the places of their records are not compared with this file.
  void read_rows() {
    std::vector<std::byte> payload;
    const std::size_t stored = stored_fields(out_.schema);
    while (next(payload)) {
      if (decode_end(payload)) {
        out_.records.clear();
        ++out_.finished_shards;
        end_ = kHeadBytes;
        continue;
      }
      const auto rows = decode_rows(payload, stored);
      if (!rows || rows->shard != out_.finished_shards) return;
      alignment_ = rows->alignment;
      for (const Row& row : rows->rows) {
        if (!row.refusal && !add(row)) return;
      }
    }
  }

  // Returns false if the records would exceed any possible file.
  bool add(const Row& row) {
    const auto start = align_up(end_, *alignment_);
    if (!start) return false;
    FoundRecord record{.number = out_.records.size(),
                       .offset = *start,
                       .lengths = row.lengths,
                       .restore = row.info.codec == Codec::lanes ? row.restore : 0,
                       .info = row.info,
                       .key = row.key};
    const auto end = end_of(record);
    if (!end) return false;
    end_ = *end;
    out_.records.push_back(std::move(record));
    return true;
  }

  static std::optional<std::uint64_t> end_of(const FoundRecord& record) {
    std::optional<std::uint64_t> end = record.offset;
    const auto piece = [&](std::uint64_t bytes) {
      if (end) end = tundish::add(*end, bytes);
      if (end) end = tundish::add(*end, kCrcBytes);
    };
    for (const std::uint64_t length : record.lengths) piece(length);
    if (record.info.codec == Codec::lanes) piece(record.restore);
    return end;
  }

  void drop_what_the_file_lacks() {
    const std::size_t before = out_.records.size();
    while (!out_.records.empty() && end_of(out_.records.back()) > file_->size()) {
      out_.records.pop_back();
    }
    const std::size_t left = out_.records.size();
    if (left < before) out_.lost.push_back({left, before - left, "the file ends before it"});
  }

  std::vector<FoundRecord> scan_from(std::uint64_t alignment, const SalvageOptions& options) {
    const auto begin = align_up(end_, alignment);
    if (!begin || *begin >= file_->size()) return {};
    const std::uint64_t most = std::min(file_->size() - *begin, kScannedBytes);
    const RecordScan scan{.schema = out_.schema,
                          .alignment = alignment,
                          .records_end = *begin + most,
                          .progress = options.progress,
                          .begin = *begin,
                          .first = out_.records.size(),
                          .through_damage = false};
    return scan_records(*file_, scan).records;
  }

  const std::shared_ptr<const ByteFile>& file_;
  const ByteFile& journal_;
  Journal::Place place_;
  Salvage out_;
  std::uint64_t end_ = kHeadBytes;          // end of the last record
  std::optional<std::uint64_t> alignment_;  // empty: no row reveals it
};

// `path`: the name of the pack as the user gave it.
std::optional<InterruptedPack> open_files(const std::string& path, const std::string& partial,
                                          const std::string& journal) {
  if (!is_file(journal)) return std::nullopt;
  File locked = File::open(journal);
  if (::flock(locked.descriptor(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(ErrorCode::output_busy, {.file = path}, "");
  }
  InterruptedPack out{.partial = std::make_shared<MemoryBytes>(Bytes{}, partial),
                      .journal = std::make_shared<DiskBytes>(std::move(locked))};
  if (is_file(partial)) out.partial = std::make_shared<DiskBytes>(File::open(partial));
  return out;
}

}  // namespace

std::optional<InterruptedPack> find_interrupted_pack(const std::string& path) {
  const std::size_t ending = path.rfind(kPartial);
  const std::size_t name = path.rfind('/') + 1;
  if (is_file(path)) {
    if (path[name] != '.' || ending == path.npos || ending < name) return std::nullopt;
    return open_files(path, path,
                      path.substr(0, ending) + ".journal" + path.substr(ending + kPartial.size()));
  }
  // At the beginning and between two shards, a journal exists without a partial file.
  for (const bool with_partial : {true, false}) {
    for (const std::string& target : {path, manifest_name(path)}) {
      try {
        const OutputTarget there(target, true);
        const std::string partial = there.beside(there.hidden_name("partial"));
        if (with_partial && !is_file(partial)) continue;
        auto found = open_files(path, partial, there.beside(there.hidden_name("journal")));
        if (found) return found;
      } catch (const Error& error) {
        if (error.code() == ErrorCode::output_busy) throw;
        // The folder does not exist: opening reports it.
      }
    }
  }
  return std::nullopt;
}

std::optional<Salvage> find_partial_records(const std::shared_ptr<const ByteFile>& partial,
                                            const ByteFile& journal,
                                            const SalvageOptions& options) {
  PartialRecords records(partial, journal);
  if (!records.read() || records.is_finished_file()) return std::nullopt;
  records.scan_tail(options);
  return records.take();
}

}  // namespace tundish
