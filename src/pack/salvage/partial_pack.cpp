#include "pack/salvage/partial_pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "pack/index.h"
#include "pack/metadata.h"
#include "pack/output_target.h"
#include "pack/salvage/scan.h"
#include "pack/write/checkpoint.h"
#include "pack/write/journal.h"

namespace tundish {
namespace {

constexpr std::string_view kPartial = ".partial";
constexpr std::uint64_t kScannedBytes = 64 << 20;  // behind what the journal knows

bool is_file(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// The schema of the source, which is that of the pack.
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
    const std::size_t stored = stored_fields(out_.schema);
    while (next(payload)) {
      if (decode_end(payload)) {  // of a shard that is complete and has its own name
        out_.records.clear();
        out_.lost.clear();
        end_ = kHeadBytes;
        number_ = 0;
        continue;
      }
      const auto rows = decode_rows(payload, stored);
      if (!rows) break;
      alignment_ = rows->alignment;
      for (const Row& row : rows->rows) {
        if (!row.refusal && !add(row)) return !out_.records.empty();
      }
    }
    return !out_.records.empty();
  }

  // Records that were written after the last block. A reserved file ends in zeros.
  void scan_tail(const SalvageOptions& options) {
    const auto begin = align_up(end_, alignment_);
    if (!begin || *begin >= file_->size()) return;
    const std::uint64_t limit = std::min(file_->size(), *begin + kScannedBytes);
    const RecordScan scan{.schema = out_.schema,
                          .alignment = alignment_,
                          .records_end = limit,
                          .progress = options.progress,
                          .begin = *begin,
                          .first = number_,
                          .through_damage = false};
    Salvage tail = out_;
    tail.records = scan_records(*file_, scan).records;
    tail.lost.clear();
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

  // False when the file ends before the record does.
  bool add(const Row& row) {
    const auto start = align_up(end_, alignment_);
    std::optional<std::uint64_t> end = start;
    const auto piece = [&](std::uint64_t bytes) {
      if (end) end = tundish::add(*end, bytes);
      if (end) end = tundish::add(*end, kCrcBytes);
    };
    for (const std::uint64_t length : row.lengths) piece(length);
    const bool lanes = row.info.codec == Codec::lanes;
    if (lanes) piece(row.restore);
    if (!end || *end > file_->size()) {
      out_.lost.push_back({number_, 1, "the file ends before it"});
      return false;
    }
    out_.records.push_back({.number = number_++,
                            .offset = *start,
                            .lengths = row.lengths,
                            .restore = lanes ? row.restore : 0,
                            .info = row.info,
                            .key = row.key});
    end_ = *end;
    return true;
  }

  const std::shared_ptr<const ByteFile>& file_;
  const ByteFile& journal_;
  Journal::Place place_;
  Salvage out_;
  std::uint64_t end_ = kHeadBytes, number_ = 0;
  std::uint64_t alignment_ = 64;
};

}  // namespace

std::optional<InterruptedPack> find_interrupted_pack(const std::string& path) {
  std::string partial = path, journal;
  const std::size_t ending = path.rfind(kPartial);
  const std::size_t name = path.rfind('/') + 1;
  if (is_file(path)) {
    if (path[name] != '.' || ending == path.npos || ending < name) return std::nullopt;
    journal = path.substr(0, ending) + ".journal" + path.substr(ending + kPartial.size());
  } else {
    try {
      const OutputTarget target(path, true);
      partial = target.beside(target.hidden_name("partial"));
      journal = target.beside(target.hidden_name("journal"));
    } catch (const Error&) {
      return std::nullopt;  // no such folder: opening reports it
    }
  }
  if (!is_file(partial) || !is_file(journal)) return std::nullopt;
  File locked = File::open(journal);
  if (::flock(locked.descriptor(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(ErrorCode::output_busy, {.file = path}, "");
  }
  return InterruptedPack{std::make_shared<DiskBytes>(File::open(partial)),
                         std::make_shared<DiskBytes>(std::move(locked))};
}

std::optional<Salvage> find_partial_records(const std::shared_ptr<const ByteFile>& partial,
                                            const ByteFile& journal,
                                            const SalvageOptions& options) {
  PartialRecords records(partial, journal);
  if (!records.read()) return std::nullopt;
  records.scan_tail(options);
  return records.take();
}

}  // namespace tundish
