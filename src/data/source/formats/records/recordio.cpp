#include "data/source/formats/records/recordio.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/interruption.h"
#include "codec/decode/decode.h"
#include "data/source/arrays/copy_bytes.h"
#include "data/source/field_names.h"
#include "data/source/formats/records/record_source.h"
#include "data/source/formats/records/recordio_reader.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxKeysBytes = 1ull << 30;

bool is_whole_label(float label) { return std::floor(label) == label && std::abs(label) < 1e9f; }

// The kind of labels before the image.
enum class Labels : char { none = 'n', whole = 'w', vectors = 'v', ragged = 'r' };

// The kind of labels in all records: "w", "v5" (vectors of five), ...
struct RecordIoKind {
  Labels labels = Labels::whole;
  std::uint32_t length = 0;  // length of vectors; 0: one number

  std::string text() const { return fmt::format("{}{}", static_cast<char>(labels), length); }
  static std::optional<RecordIoKind> parse(const std::string& text) {
    for (const Labels labels : {Labels::none, Labels::whole, Labels::vectors, Labels::ragged}) {
      if (text.empty() || text[0] != static_cast<char>(labels)) continue;
      RecordIoKind out{labels, 0};
      for (const char c : text.substr(1, 9)) {
        if (c < '0' || c > '9') return std::nullopt;
        out.length = out.length * 10 + static_cast<std::uint32_t>(c - '0');
      }
      return out;
    }
    return std::nullopt;
  }
  // Updates the kind by the label of one more record.
  void add(const IrHeader& header, bool first) {
    const bool is_whole = header.flag == 0 && is_whole_label(header.label);
    if (first) {
      *this = {is_whole ? Labels::whole : Labels::vectors, header.flag};
    } else if (labels == Labels::whole && !is_whole) {
      *this = {header.flag == 0 ? Labels::vectors : Labels::ragged, 0};
    } else if (labels == Labels::vectors && length != header.flag) {
      *this = {Labels::ragged, 0};
    }
  }
};

ArrayType vector_type(std::uint64_t flag) {
  if (flag == 0) return {ArrayElement::float32, {}};
  return {ArrayElement::float32, {flag}};
}

class RecordIo : public RecordSource {
 public:
  RecordIo(const std::string& path, const SourceOptions& options) : RecordSource(path) {
    if (file_.size() == 0) throw Error(ErrorCode::file_empty, {.file = path}, "");
    keys_stamp_ = stamp_of_keys();
    IndexedFile about{path, stamp_of(path), "recordio", keys_stamp_};
    auto known = load_record_index(about);
    const auto kind = known ? RecordIoKind::parse(known->note) : std::nullopt;
    if (kind) {
      index_ = std::move(*known);
      kind_ = *kind;
    } else {
      build_index();
      if (!keys_path_.empty()) apply_keys();
      index_.note = kind_.text();
      save_record_index(about, index_);
    }
    if (index_.size() == 0)
      throw Error(ErrorCode::source_empty, {.file = path}, "it has no record");
    make_schema(options);
  }

  const Schema& schema() const override { return schema_; }
  std::string file_times() const override {
    return fmt::format("{} {}", RecordSource::file_times(), keys_stamp_);
  }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    thread_local std::vector<std::byte> stored, data;
    read_stored(stored, i);
    auto fault = join_recordio(data, stored);
    if (!fault) fault = take(out, data, fields);
    const std::int64_t label = fault ? -1 : label_of(data);
    release_if_large(stored);
    release_if_large(data);
    if (fault) throw SampleError(*fault, place(i));
    check_label(i, label);
  }

 private:
  // Returns all inputs of the index other than the .rec file.
  std::string stamp_of_keys() {
    const std::size_t dot = data_path().rfind('.');
    if (dot == data_path().npos || data_path().find('/', dot) != data_path().npos) return "no idx";
    const std::string beside = data_path().substr(0, dot) + ".idx";
    try {
      const FileStamp stamp = stamp_of(beside);
      keys_path_ = beside;
      return fmt::format("idx {} {} {}", stamp.size, stamp.changed_ns, stamp.status_changed_ns);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::source_missing) return "no idx";
      throw;
    }
  }

  void build_index() {
    FileStream stream(file_);
    RecordIoReader reader(stream);
    RecordIoRecord record;
    while (reader.next(record)) {
      check_stop(data_path());
      if (index_.size() == 0) find_kind(record);
      if (index_.size() == kMaxRecords) {
        throw Error(unsupported_source("RecordIO", "it has over 50 million records", record.offset),
                    {.file = data_path()});
      }
      add(record);
    }
    if (reader.fault()) throw Error(*reader.fault(), {.file = data_path()});
    // The shape of label vectors is known only after all records.
    const std::uint64_t fixed = element_bytes(ArrayElement::float32) * std::max(1u, kind_.length);
    for (std::size_t i = 0; i < index_.size() && kind_.labels != Labels::none; ++i) {
      if (index_.bytes[i] == 0) continue;
      if (kind_.labels != Labels::whole) index_.labels[i] = -1;
      if (kind_.labels == Labels::vectors) index_.bytes[i] += static_cast<std::uint32_t>(fixed);
      if (kind_.labels == Labels::ragged) {
        const std::uint32_t flag = flags_[i];
        index_.bytes[i] += static_cast<std::uint32_t>(
            npy_head(vector_type(std::max(1u, flag))).size() + 4 * std::max(1u, flag));
      }
    }
    flags_ = {};
  }

  // Detects from the first record whether records have the header of mx.recordio.pack().
  void find_kind(const RecordIoRecord& record) {
    std::vector<std::byte> stored(
        static_cast<std::size_t>(std::min<std::uint64_t>(record.stored, Limits{}.max_bytes))),
        data;
    stored.resize(file_.read_at(stored, record.offset));
    if (const auto fault = join_recordio(data, stored)) throw Error(*fault, {.file = data_path()});
    if (data.size() >= kIrHeaderBytes) {
      const std::uint64_t before = kIrHeaderBytes + 4 * std::uint64_t{read_ir_header(data).flag};
      if (before < data.size() && sniff(Bytes(data).subspan(static_cast<std::size_t>(before)))) {
        return;
      }
    }
    kind_.labels = Labels::none;
    if (sniff(data)) return;
    throw Error(unsupported_source("RecordIO",
                                   "its first record is neither an image nor one that "
                                   "mx.recordio.pack() made of an image",
                                   record.offset),
                {.file = data_path()});
  }

  // A record with a truncated header, or without all of its labels, is bad when it is read.
  void add(const RecordIoRecord& record) {
    if (kind_.labels == Labels::none) {
      flags_.push_back(0);
      return index_.add(record.offset, record.stored, -1, record.size);
    }
    const IrHeader header = read_ir_header(record.head);
    const std::uint64_t before = kIrHeaderBytes + 4 * std::uint64_t{header.flag};
    const bool good = record.size > before && record.stored <= Limits{}.max_bytes;
    flags_.push_back(header.flag);
    if (good) kind_.add(header, !seen_);
    seen_ = seen_ || good;
    const bool whole = good && kind_.labels == Labels::whole;
    index_.add(record.offset, record.stored, whole ? static_cast<std::int64_t>(header.label) : -1,
               good ? record.size - before : 0);
  }

  // Returns the label that the index has for a good record.
  std::int64_t label_of(Bytes data) const {
    if (kind_.labels != Labels::whole) return -1;
    const float label = read_ir_header(data).label;
    return is_whole_label(label) ? static_cast<std::int64_t>(label) : -1;
  }

  // Selects the samples listed in the .idx file, in its order.
  void apply_keys() {
    std::vector<std::byte> file;
    read_file(file, keys_path_, kMaxKeysBytes);
    RecordIoKeys keys;
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (const auto fault = parse_recordio_keys(keys, text)) {
      throw Error(*fault, {.file = keys_path_});
    }
    RecordIndex out;
    for (std::size_t k = 0; k < keys.offsets.size(); ++k) {
      const std::uint64_t offset = keys.offsets[k];
      const auto found = std::lower_bound(index_.offsets.begin(), index_.offsets.end(), offset);
      if (found == index_.offsets.end() || *found != offset) {
        throw Error(damaged_source("RecordIO",
                                   fmt::format("key '{}': no record of {} begins at byte {}",
                                               printable(std::string(keys.names[k])),
                                               printable(data_path()), offset),
                                   0),
                    {.file = keys_path_});
      }
      const auto i = static_cast<std::size_t>(found - index_.offsets.begin());
      out.add(index_.offsets[i], index_.lengths[i], index_.labels[i], index_.bytes[i]);
    }
    out.names = std::move(keys.names);
    index_ = std::move(out);
  }

  void make_schema(const SourceOptions& options) {
    schema_.source = "recordio";
    schema_.fields = {{"image", FieldType::image}};
    const bool whole = kind_.labels == Labels::whole;
    if (whole) schema_.fields.push_back({"label", FieldType::label});
    if (kind_.labels == Labels::vectors) {
      schema_.fields.push_back({"label", FieldType::array, vector_type(kind_.length)});
    }
    if (kind_.labels == Labels::ragged) schema_.fields.push_back({"label", FieldType::array});
    const std::array images = {FieldCandidate{"image"}};
    std::vector<FieldCandidate> labels = {{"image", false}};
    if (schema_.fields.size() > 1) {
      labels.push_back({"label"});
    } else {
      warnings_.push_back(printable(data_path()) +
                          ": its samples have no labels: its records have no header");
    }
    int found = 0;
    auto fault = choose_field(found, FieldRole::image, options.image, images);
    if (!fault) fault = choose_field(found, FieldRole::label, options.label, labels);
    if (fault) throw Error(*fault, {.file = data_path()});
  }

  std::optional<Fault> take(Sample& out, Bytes data, FieldSet fields) const {
    out.fields.resize(schema_.fields.size());
    for (std::vector<std::byte>& field : out.fields) field.clear();
    std::uint64_t before = 0;
    if (kind_.labels != Labels::none) {
      if (data.size() < kIrHeaderBytes) {
        return damaged_source("RecordIO", "the record is shorter than its header", 0);
      }
      const IrHeader header = read_ir_header(data);
      before = kIrHeaderBytes + 4 * std::uint64_t{header.flag};
      if (before >= data.size()) {
        return damaged_source("RecordIO",
                              fmt::format("{} labels and an image do not fit into {} bytes",
                                          with_commas(header.flag), with_commas(data.size())),
                              0);
      }
      if (kind_.labels == Labels::vectors && header.flag != kind_.length) {
        return damaged_source(
            "RecordIO",
            fmt::format("{} labels, other records have {}", with_commas(header.flag), kind_.length),
            0);
      }
      if (out.fields.size() > 1 && kind_.labels != Labels::whole && (fields & 2) != 0) {
        take_vector(out.fields[1], header, data);
      }
    }
    if ((fields & 1) == 0) return std::nullopt;
    const Bytes image = data.subspan(static_cast<std::size_t>(before));
    out.fields[0].clear();
    append_bytes(out.fields[0], image);
    return std::nullopt;
  }

  void take_vector(std::vector<std::byte>& out, const IrHeader& header, Bytes data) const {
    const Bytes values = header.flag == 0
                             ? data.subspan(4, 4)
                             : data.subspan(kIrHeaderBytes, 4 * std::size_t{header.flag});
    if (kind_.labels == Labels::ragged) {
      const std::string head = npy_head(vector_type(std::max(1u, header.flag)));
      const Bytes text = std::as_bytes(std::span(head));
      out.assign(text.begin(), text.end());
    }
    out.insert(out.end(), values.begin(), values.end());
  }

  std::string keys_path_;   // path of the .idx file; empty: none
  std::string keys_stamp_;  // stamp of the .idx file when it was opened
  RecordIoKind kind_;
  Schema schema_;
  std::vector<std::string> warnings_;
  std::vector<std::uint32_t> flags_;  // only while the index is built
  bool seen_ = false;                 // true after a good record, while the index is built
};

}  // namespace

bool looks_like_recordio(const Probe& probe) {
  return !probe.is_folder && probe.first.size() >= 8 &&
         load<std::uint32_t>(probe.first.data()) == kRecordIoMagic;
}

std::shared_ptr<const Source> open_recordio(const std::string& path, const SourceOptions& options) {
  return std::make_shared<RecordIo>(path, options);
}

}  // namespace tundish
