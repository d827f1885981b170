#include "source/formats/records/tfrecord.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/interruption.h"
#include "decode/decode.h"
#include "source/decompress.h"
#include "source/formats/joined.h"
#include "source/formats/records/record_source.h"
#include "source/formats/records/tf_class_names.h"
#include "source/formats/records/tf_layout.h"
#include "source/formats/records/tfrecord_folder.h"
#include "source/formats/records/tfrecord_reader.h"
#include "source/names.h"

namespace tundish {
namespace {

// The records from the front, of a plain or a compressed file.
class RecordStream {
 public:
  RecordStream(const File& file, Compression compression)
      : file_(file),
        unpacked_(compression == Compression::none ? nullptr
                                                   : decompress(file_, compression, file.path())),
        records_(unpacked_ ? *unpacked_ : file_),
        path_(file.path()) {}

  bool next() {
    check_stop(path_);
    return records_.next() || end();
  }
  // The data of a record that is not too long; false for one that is.
  bool read(std::vector<std::byte>& stored) {
    if (records_.length() > Limits{}.max_bytes) {
      if (!records_.skip()) end();
      return false;
    }
    return records_.read(stored) || end();
  }
  const TfRecordReader& at() const { return records_; }

 private:
  bool end() const {
    if (records_.fault()) throw Error(*records_.fault(), {.file = path_});
    return false;
  }

  FileStream file_;
  std::unique_ptr<ByteStream> unpacked_;
  TfRecordReader records_;
  std::string path_;
};

Compression compression_of(const File& file) {
  std::array<std::byte, 16> first;
  return sniff_compression(Bytes(first).first(file.read_at(first, 0)));
}

Bytes data_of(const std::vector<std::byte>& stored) {
  return Bytes(stored).first(stored.size() - kTfRecordTail);
}

class TfRecord : public RecordSource {
 public:
  TfRecord(const std::string& path, std::shared_ptr<const TfLayout> layout, std::string prefix)
      : RecordSource(path), layout_(std::move(layout)) {
    prefix_ = std::move(prefix);
    compression_ = compression_of(file_);
    const IndexedFile about{path, stamp_of(path), "tfrecord", "with classes\n" + layout_->text()};
    auto known = load_record_index(about);
    auto classes = known ? TfClassNames::parse(known->note) : std::nullopt;
    if (classes && compression_ == Compression::none) {
      index_ = std::move(*known);
      classes_ = std::move(*classes);
      return;
    }
    build_index();
    index_.note = classes_.text();
    if (compression_ == Compression::none) save_record_index(about, index_);
  }

  const Schema& schema() const override { return layout_->schema(); }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  void set_warnings(std::vector<std::string> warnings) { warnings_ = std::move(warnings); }
  const TfClassNames& classes() const { return classes_; }
  bool random_access() const override { return compression_ == Compression::none; }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    if (!random_access()) throw Error(ErrorCode::no_random_access, {.file = data_path()}, "");
    thread_local std::vector<std::byte> stored;
    read_stored(stored, i, kTfRecordTail);
    const auto fault = take(out, stored, fields);
    release_if_large(stored);
    if (fault) throw SampleError(*fault, place(i));
  }

  void scan(const SampleSink& sink, const BadSink& bad) const override {
    if (random_access()) return Source::scan(sink, bad);
    RecordStream records(file_, compression_);
    std::vector<std::byte> stored;
    Sample sample;
    for (std::uint64_t i = 0; i < count(); ++i) {
      if (!records.next()) {
        throw Error(ErrorCode::source_changed, {.file = data_path()},
                    "it has fewer records than when it was opened");
      }
      std::optional<Fault> fault = check_record_size(records.at().length());
      if (records.read(stored)) fault = take(sample, stored, kAllFields);
      if (fault && !bad) throw SampleError(*fault, place(i));
      if (!(fault ? bad(i, SampleError(*fault, place(i))) : sink(i, sample))) return;
    }
  }

 private:
  void build_index() {
    RecordStream records(file_, compression_);
    std::vector<std::byte> stored;
    // Few compressed bytes can hold many empty records: a decompression bomb.
    const std::uint64_t bytes = std::min(file_.size(), kMaxRecords);
    const std::uint64_t most =
        std::min(kMaxRecords, ((8 << 20) + 64 * bytes) / RecordIndex::kBytesPerRecord);
    while (records.next()) {
      if (index_.size() == most) {
        throw Error(unsupported_source("TFRecord",
                                       fmt::format("{} bytes hold over {} records",
                                                   with_commas(file_.size()), with_commas(most)),
                                       records.at().offset()),
                    {.file = data_path()});
      }
      std::int64_t label = -1;
      std::uint64_t read_bytes = 0;
      const std::uint64_t offset = records.at().offset(), length = records.at().length();
      std::string_view class_text;
      // A record that is damaged is reported when it is read.
      const bool good = records.read(stored) && !check_tfrecord(stored) &&
                        !layout_->measure(label, read_bytes, data_of(stored), &class_text);
      if (good) classes_.add(label, class_text);
      index_.add(offset, length, good ? label : -1, good ? read_bytes : 0);
    }
  }

  std::optional<Fault> take(Sample& out, const std::vector<std::byte>& stored,
                            FieldSet fields) const {
    if (auto fault = check_tfrecord(stored)) return fault;
    return layout_->read(out, data_of(stored), fields);
  }

  Compression compression_ = Compression::none;
  std::shared_ptr<const TfLayout> layout_;
  TfClassNames classes_;
  std::vector<std::string> warnings_;
};

// From the first good records of these files.
std::shared_ptr<TfLayout> decide_layout(const std::string& path,
                                        const std::vector<std::string>& files,
                                        const SourceOptions& options) {
  TfSurvey survey;
  std::size_t good = 0, tried = 0;
  std::optional<Fault> first_fault;
  std::string faulty;  // the file of the first fault
  std::vector<std::byte> stored;
  const auto enough = [&] { return good >= kSampledRecords || tried >= 10 * kSampledRecords; };
  for (std::size_t f = 0; f < files.size() && !enough(); ++f) {
    const File file = File::open(files[f]);
    RecordStream records(file, compression_of(file));
    while (!enough() && records.next()) {
      ++tried;
      if (!records.read(stored)) continue;
      auto fault = check_tfrecord(stored);
      if (!fault) fault = survey.add(data_of(stored));
      if (fault && !first_fault) {
        first_fault = fault;
        first_fault->offset += records.at().offset();
        faulty = files[f];
      }
      good += !fault;
    }
  }
  if (good == 0 && first_fault) throw Error(*first_fault, {.file = faulty});
  if (good == 0) throw Error(ErrorCode::source_empty, {.file = path}, "it has no record");
  auto layout = std::make_shared<TfLayout>();
  if (const auto fault = layout->decide(survey, options)) throw Error(*fault, {.file = path});
  if (layout->schema().fields.empty()) {
    throw Error(unsupported_source("TFRecord", "its records have no features"), {.file = path});
  }
  return layout;
}

}  // namespace

bool looks_like_tfrecord(const Probe& probe) {
  if (probe.is_folder) return is_tfrecord_folder(probe.path);
  if (starts_tfrecord(probe.first)) return true;
  return sniff_compression(probe.first) != Compression::none && is_tfrecord_file(probe.path);
}

std::shared_ptr<const Source> open_tfrecord(const std::string& path, const SourceOptions& options) {
  TfRecordFolder folder;
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (is_folder) folder = list_tfrecords(path);
  std::vector<std::string> files;
  for (const std::string& name : folder.names) files.push_back(join_path(path, name));
  if (!is_folder) files = {path};
  const auto layout = decide_layout(path, files, options);
  std::vector<std::string> warnings = std::move(folder.warnings);
  for (const std::string& text : layout->warnings()) {
    warnings.push_back(printable(path) + ": " + text);
  }
  std::vector<std::shared_ptr<const Source>> sources;
  TfClassNames classes;
  std::shared_ptr<TfRecord> first;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::string prefix = is_folder ? folder.names[f] + "/" : "";
    auto source = std::make_shared<TfRecord>(files[f], layout, prefix);
    classes.add(source->classes());
    if (f == 0) first = source;
    sources.push_back(std::move(source));
  }
  std::string reason;
  layout->set_classes(classes.names(reason));
  if (!reason.empty()) {
    warnings.push_back(printable(path) + ": the names of its classes are not used: " + reason);
  }
  first->set_warnings(std::move(warnings));
  return join_sources(std::move(sources), is_folder ? path : "");
}

}  // namespace tundish
