#include "data/source/formats/records/tfrecord.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/interruption.h"
#include "codec/decode/decode.h"
#include "data/source/decompress.h"
#include "data/source/formats/joined.h"
#include "data/source/formats/records/record_source.h"
#include "data/source/formats/records/tf_class_names.h"
#include "data/source/formats/records/tf_layout.h"
#include "data/source/formats/records/tfrecord_folder.h"
#include "data/source/formats/records/tfrecord_reader.h"
#include "data/source/names.h"
#include "data/source/views/key_hash.h"
#include "data/source/views/pattern.h"

namespace tundish {
namespace {

// Reads the records of a plain or compressed file from the front.
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
  // Reads the data of a record; returns false if the record is too long.
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
  }

  // Loads the index beside the file; returns false if none fits.
  bool load_index() {
    auto known = load_record_index(about());
    auto classes = known ? TfClassNames::parse(known->note) : std::nullopt;
    if (!classes || compression_ != Compression::none) return false;
    index_ = std::move(*known);
    classes_ = std::move(*classes);
    return true;
  }

  // Reads the whole file.
  void make_index() {
    const IndexedFile file = about();
    build_index();
    index_.note = classes_.text();
    if (compression_ == Compression::none) save_record_index(file, index_);
  }

  const StringTable& names() const { return index_.names; }  // empty: records have no names
  void forget_names() { index_.names = {}; }                 // keys become numbers

  const Schema& schema() const override { return layout_->schema(); }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  void set_warnings(std::vector<std::string> warnings) { warnings_ = std::move(warnings); }
  const TfClassNames& classes() const { return classes_; }
  bool random_access() const override { return compression_ == Compression::none; }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    if (!random_access()) throw Error(ErrorCode::no_random_access, {.file = data_path()}, "");
    thread_local std::vector<std::byte> stored;
    read_stored(stored, i, kTfRecordTail);
    std::int64_t label = -1;
    const auto fault = take(out, label, stored, fields);
    release_if_large(stored);
    if (fault) throw SampleError(*fault, place(i));
    check_label(i, label);
  }

  void scan(const SampleSink& sink, const BadSink& bad) const override {
    if (random_access()) return Source::scan(sink, bad);
    const File file = File::open(data_path());
    RecordStream records(file, compression_);
    std::vector<std::byte> stored;
    Sample sample;
    std::int64_t label = -1;
    for (std::uint64_t i = 0; i < count(); ++i) {
      if (!records.next()) {
        throw Error(ErrorCode::source_changed, {.file = data_path()},
                    "it has fewer records than when it was opened");
      }
      std::optional<Fault> fault = check_record_size(records.at().length());
      if (records.read(stored)) fault = take(sample, label, stored, kAllFields);
      if (fault && !bad) throw SampleError(*fault, place(i));
      if (!(fault ? bad(i, SampleError(*fault, place(i))) : sink(i, sample))) return;
    }
  }

 private:
  IndexedFile about() const {
    return {data_path(), stamp_of(data_path()), "tfrecord", "with names\n" + layout_->text()};
  }

  void build_index() {
    RecordStream records(file_, compression_);
    std::vector<std::byte> stored;
    // A few compressed bytes can hold many empty records: a decompression bomb.
    const std::uint64_t bytes = std::min(file_.size(), kMaxRecords);
    const std::uint64_t most =
        std::min(kMaxRecords, ((8 << 20) + 64 * bytes) / RecordIndex::kBytesPerRecord);
    bool named = true;
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
      TfNames names;
      // A damaged record is reported when it is read.
      const bool good = records.read(stored) && !check_tfrecord(stored) &&
                        !layout_->measure(label, read_bytes, data_of(stored), &names);
      if (good) classes_.add(label, names.class_text);
      index_.add(offset, length, good ? label : -1, good ? read_bytes : 0);
      named = named && add_name(good ? names.file_name : "", good, 64 * bytes);
    }
    if (!named || !any_name_) index_.names = {};
  }

  // Returns false if names cannot be keys: a record has none, or they take too much memory.
  bool add_name(std::string_view name, bool good, std::uint64_t most) {
    const std::string key = clean_path(name);
    const bool usable = !name.empty() && is_clean_key(key);
    if (good && !usable) return false;
    any_name_ = any_name_ || usable;
    index_.names.add(usable ? key : fmt::format("{:08}", index_.names.size()));
    return index_.names.memory() <= (8 << 20) + most;
  }

  std::optional<Fault> take(Sample& out, std::int64_t& label, const std::vector<std::byte>& stored,
                            FieldSet fields) const {
    if (auto fault = check_tfrecord(stored)) return fault;
    return layout_->read(out, label, data_of(stored), fields);
  }

  Compression compression_ = Compression::none;
  std::shared_ptr<const TfLayout> layout_;
  TfClassNames classes_;
  bool any_name_ = false;  // only while the index is made
  std::vector<std::string> warnings_;
};

// Surveys the first good records of these files.
TfSurvey survey_files(const std::string& path, const std::vector<std::string>& files) {
  TfSurvey survey;
  std::size_t good = 0, tried = 0;
  std::optional<Fault> first_fault;
  std::string faulty;  // file of the first fault
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
  return survey;
}

std::shared_ptr<TfLayout> decide_layout(const std::string& path, const TfSurvey& survey,
                                        const SourceOptions& options, bool keep_descriptions) {
  auto layout = std::make_shared<TfLayout>();
  if (const auto fault = layout->decide(survey, options, keep_descriptions)) {
    throw Error(*fault, {.file = path});
  }
  if (layout->schema().fields.empty()) {
    throw Error(unsupported_source("TFRecord", "its records have no features"), {.file = path});
  }
  return layout;
}

// The files of a dataset, opened with one layout.
struct OpenedFiles {
  std::shared_ptr<TfLayout> layout;
  std::vector<std::shared_ptr<TfRecord>> files;
  std::vector<std::string> classes;
  std::string why_no_classes;  // empty: there are classes, or no record names one
  bool named = false;          // every record has a distinct name
};

bool have_own_names(const std::vector<std::shared_ptr<TfRecord>>& files) {
  std::vector<std::uint64_t> hashes;
  for (const auto& file : files) {
    if (file->count() > 0 && file->names().size() == 0) return false;
    check_stop(file->path());
    for (std::size_t i = 0; i < file->names().size(); ++i) {
      hashes.push_back(key_hash("name", 0, file->names()[i]));
    }
  }
  std::sort(hashes.begin(), hashes.end());
  return std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end();
}

// `prefixes`: prefix of numeric keys for each file. Returns empty if `read_through` is false and a
// file without an index would need a full read.
std::optional<OpenedFiles> open_files(std::shared_ptr<TfLayout> layout,
                                      const std::vector<std::string>& files,
                                      const std::vector<std::string>& prefixes, bool read_through) {
  OpenedFiles out;
  out.layout = std::move(layout);
  TfClassNames classes;
  for (std::size_t f = 0; f < files.size(); ++f) {
    auto file = std::make_shared<TfRecord>(files[f], out.layout, prefixes[f]);
    if (!file->load_index()) {
      if (!read_through) return std::nullopt;
      file->make_index();
    }
    classes.add(file->classes());
    if (f >= kMaxOpenFiles) file->close_between_reads();
    out.files.push_back(std::move(file));
  }
  out.classes = classes.names(out.why_no_classes);
  out.named = have_own_names(out.files);
  return out;
}

// Features that only describe the image become fields only if they add information to keys and
// classes: repeated names, or a label with two names. This is known after a full read of the files,
// and stored in their indexes.
OpenedFiles open_described(const std::string& path, const std::vector<std::string>& files,
                           const std::vector<std::string>& prefixes, const SourceOptions& options) {
  const TfSurvey survey = survey_files(path, files);
  const auto all = decide_layout(path, survey, options, true);
  const auto fewer = decide_layout(path, survey, options, false);
  if (all->text() == fewer->text()) return *open_files(all, files, prefixes, true);
  const auto are_told = [](const OpenedFiles& opened) {
    return opened.named && opened.why_no_classes.empty();
  };
  // Indexes with these fields may be of an opening with other files, which repeat names.
  if (auto known = open_files(all, files, prefixes, false); known && !are_told(*known)) {
    return *known;
  }
  OpenedFiles out = *open_files(fewer, files, prefixes, true);
  return are_told(out) ? out : *open_files(all, files, prefixes, true);
}

std::shared_ptr<const Source> open_all(const std::string& path,
                                       const std::vector<std::string>& files,
                                       const std::vector<std::string>& prefixes,
                                       std::vector<std::string> warnings,
                                       const SourceOptions& options) {
  OpenedFiles opened = open_described(path, files, prefixes, options);
  for (const std::string& text : opened.layout->warnings()) {
    warnings.push_back(printable(path) + ": " + text);
  }
  opened.layout->set_classes(std::move(opened.classes));
  if (!opened.why_no_classes.empty()) {
    warnings.push_back(printable(path) +
                       ": the names of its classes are not used: " + opened.why_no_classes);
  }
  for (const auto& file : opened.files) {
    if (!opened.named) file->forget_names();
  }
  opened.files.front()->set_warnings(std::move(warnings));
  return join_sources({opened.files.begin(), opened.files.end()},
                      files.front() == path ? "" : path);
}

}  // namespace

bool looks_like_tfrecord(const Probe& probe) {
  if (probe.is_folder) return is_tfrecord_folder(probe.path);
  if (starts_tfrecord(probe.first)) return true;
  return sniff_compression(probe.first) != Compression::none && is_tfrecord_file(probe.path);
}

std::shared_ptr<const Source> open_tfrecord(const std::string& path, const SourceOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return open_all(path, {path}, {""}, {}, options);
  TfRecordFolder folder = list_tfrecords(path);
  std::vector<std::string> files, prefixes;
  for (const std::string& name : folder.names) {
    files.push_back(join_path(path, name));
    prefixes.push_back(name + "/");
  }
  return open_all(path, files, prefixes, std::move(folder.warnings), options);
}

std::shared_ptr<const Source> open_tfrecords(const std::string& path,
                                             const std::vector<std::string>& files,
                                             const SourceOptions& options) {
  refuse_several_counts(path, files);
  std::vector<std::string> prefixes = distinct_names(files);
  for (std::string& name : prefixes) name += '/';
  return open_all(path, files, prefixes, warnings_of_missing(path, files), options);
}

}  // namespace tundish
