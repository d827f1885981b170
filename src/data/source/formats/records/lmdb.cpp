#include "data/source/formats/records/lmdb.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "base/interruption.h"
#include "codec/decode/decode.h"
#include "data/source/field_names.h"
#include "data/source/formats/records/caffe_datum.h"
#include "data/source/formats/records/lmdb_samples.h"
#include "data/source/formats/records/lmdb_tree.h"
#include "data/source/formats/records/pickled_pair.h"
#include "data/source/formats/records/record_source.h"
#include "data/source/names.h"

namespace tundish {
namespace {

// The kind of all values, detected from the first value.
enum class Values : std::uint8_t { images, encoded_datums, pixel_datums, float_datums, pairs };

bool has_labels(Values values) { return values != Values::images; }

// Returns the reason why a value of another kind is not supported.
const char* name_of_other(Bytes value) {
  // An Arrow stream without tensors, arrays or buffers.
  const auto no = [&](std::size_t at) { return load<std::uint32_t>(value.data() + at) == 0; };
  if (value.size() > 20 && no(0) && no(4) && no(8) && no(12) &&
      load<std::uint32_t>(value.data() + 16) == ~0u) {
    return "its values are of pyarrow.serialize(), which pyarrow itself no longer has";
  }
  return "its first value is neither an image nor a Caffe Datum nor a pickle of an image and its "
         "label";
}

ArrayType datum_type(const CaffeDatum& datum) {
  return {datum.floats.empty() ? ArrayElement::uint8 : ArrayElement::float32,
          {datum.channels, datum.height, datum.width}};
}

// Replaces a value by the part that was found in it, or by data made from it.
void keep_part(std::vector<std::byte>& value, Bytes part) {
  const std::less_equal<> not_after;
  const bool inside = not_after(value.data(), part.data()) &&
                      not_after(part.data() + part.size(), value.data() + value.size());
  if (!inside) return value.assign(part.begin(), part.end());
  std::memmove(value.data(), part.data(), part.size());
  value.resize(part.size());
}

// The image or array of one value, and its label.
struct LmdbValue {
  CaffeDatum datum;
  std::optional<PickledPair> pair;
  Bytes data;
  std::int64_t label = -1;
};

class Lmdb : public RecordSource {
 public:
  Lmdb(const std::string& given, const std::string& path, const SourceOptions& options)
      : RecordSource(path), given_(given) {
    if (file_.size() == 0) throw Error(ErrorCode::file_empty, {.file = path}, "");
    const IndexedFile about{path, stamp_of(path), "lmdb", "in the order of __keys__"};
    if (auto known = load_record_index(about)) {
      index_ = std::move(*known);
    } else {
      build_index();
      if (index_.size() > 0) {
        find_kind();
        measure_values();
      }
      save_record_index(about, index_);
    }
    if (index_.size() == 0) throw Error(ErrorCode::source_empty, {.file = path}, "it has no value");
    find_kind();
    make_schema(options);
    if (!index_.note.empty()) warnings_.push_back(printable(path) + ": " + index_.note);
  }

  const Schema& schema() const override { return schema_; }
  std::string path() const override { return given_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  bool extent(std::uint64_t i, int field, Extent& out) const override {
    if (values_ != Values::images || field != 0) return false;
    out = {data_path(), index_.offsets[i], index_.lengths[i]};
    return true;
  }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    out.fields.resize(schema_.fields.size());
    for (std::vector<std::byte>& field : out.fields) field.clear();
    if ((fields & 1) == 0) return;
    std::vector<std::byte>& value = out.fields[0];
    read_value(value, i);
    if (values_ == Values::images) return;
    LmdbValue parsed;
    if (const auto fault = parse(parsed, value)) throw SampleError(*fault, place(i));
    if (has_labels(values_)) check_label(i, parsed.label);
    keep_part(value, parsed.data);
  }

 private:
  void build_index() {
    const ReadAt read_at = [&](std::span<std::byte> out, std::uint64_t offset) {
      check_stop(data_path());
      return file_.read_at(out, offset) == out.size();
    };
    LmdbValues found;
    if (const auto fault = walk_lmdb(found, read_at, file_.size())) {
      throw Error(*fault, {.file = data_path()});
    }
    const ReadValue read = [&](std::vector<std::byte>& out, std::size_t i) {
      out.resize(found.sizes[i]);
      out.resize(file_.read_at(out, found.offsets[i]));
    };
    LmdbSamples samples;
    if (const auto fault = choose_lmdb_samples(samples, found, read)) {
      throw Error(*fault, {.file = data_path()});
    }
    index_.note = std::move(samples.note);
    if (found.one_head) {
      index_.note += fmt::format(
          "{}one of its two heads is damaged; the samples are those of the other one, which may be "
          "older",
          index_.note.empty() ? "" : "; ");
    }
    bool clean = found.keys_ascend;  // otherwise keys are the numbers of the samples
    for (const std::size_t i : samples.order) {
      clean = clean && is_clean_key(found.keys[i]) && is_utf8(found.keys[i]);
      index_.add(found.offsets[i], found.sizes[i], -1, found.sizes[i]);
    }
    if (!clean) return;
    for (const std::size_t i : samples.order) index_.names.add(found.keys[i]);
  }

  // Detects the kind of the first value; all values must have this kind.
  void find_kind() {
    std::vector<std::byte> value;
    read_value(value, 0);
    if (sniff(value)) return;
    PickledPair pair;
    const auto fault = parse_pickled_pair(pair, value);
    if (fault && starts_pickle(value)) throw Error(*fault, place(0));
    CaffeDatum datum;
    if (!fault) {
      values_ = Values::pairs;
      return;
    }
    if (!parse_caffe_datum(datum, value)) {
      values_ = datum.encoded          ? Values::encoded_datums
                : datum.floats.empty() ? Values::pixel_datums
                                       : Values::float_datums;
      if (!datum.encoded) type_ = datum_type(datum);
      return;
    }
    throw Error(unsupported_source("LMDB", name_of_other(value), index_.offsets[0]),
                {.file = data_path(), .record = 0, .key = key(0)});
  }

  // Reads labels and sizes. A damaged value is reported when it is read.
  void measure_values() {
    if (!has_labels(values_)) return;
    std::vector<std::byte> value;
    for (std::size_t i = 0; i < index_.size(); ++i) {
      check_stop(data_path());
      index_.bytes[i] = 0;
      try {
        read_value(value, i);
      } catch (const SampleError&) {
        continue;
      }
      LmdbValue parsed;
      if (parse(parsed, value)) continue;
      index_.labels[i] = parsed.label;
      index_.bytes[i] = static_cast<std::uint32_t>(parsed.data.size());
    }
  }

  // The value must outlive the result.
  std::optional<Fault> parse(LmdbValue& out, Bytes value) const {
    if (values_ == Values::pairs) {
      auto fault = parse_pickled_pair(out.pair.emplace(), value);
      out.data = out.pair->image;
      out.label = out.pair->label;
      return fault;
    }
    auto fault = parse_datum(out.datum, value);
    out.data = out.datum.floats.empty() ? out.datum.data : Bytes(out.datum.floats);
    out.label = out.datum.label;
    return fault;
  }

  std::optional<Fault> parse_datum(CaffeDatum& out, Bytes value) const {
    if (auto fault = parse_caffe_datum(out, value)) return fault;
    if (out.encoded != (values_ == Values::encoded_datums)) {
      return damaged_source("LMDB", "an image is coded or raw, unlike the first one", 0);
    }
    if (out.encoded || datum_type(out) == type_) return std::nullopt;
    return damaged_source("LMDB",
                          fmt::format("a Datum is {}, the first one is {}",
                                      array_text(datum_type(out)), array_text(type_)),
                          0);
  }

  void read_value(std::vector<std::byte>& out, std::uint64_t i) const {
    if (index_.lengths[i] == 0) {
      throw SampleError(ErrorCode::file_empty, place(i), "the value is empty");
    }
    read_stored(out, i);
  }

  void make_schema(const SourceOptions& options) {
    schema_.source = "lmdb";
    Field data{.name = "image", .type = FieldType::image};
    if (values_ == Values::pixel_datums || values_ == Values::float_datums) {
      data.array = type_;
      const std::uint64_t channels = type_.shape[0];
      data.channels_first = true;
      if (values_ == Values::float_datums || (channels != 1 && channels != 3 && channels != 4)) {
        data = {.name = "data", .type = FieldType::array, .array = type_};
      }
    }
    schema_.fields = {data};
    std::vector<FieldCandidate> images = {{data.name, data.type == FieldType::image}};
    std::vector<FieldCandidate> labels = {{data.name, false}};
    if (has_labels(values_)) {
      schema_.fields.push_back({"label", FieldType::label});
      labels.push_back({"label"});
    } else {
      warnings_.push_back(printable(given_) +
                          ": its samples have no labels: its values are images alone");
    }
    const std::string floats =
        data.type == FieldType::array ? float_picture_warning(data.name, type_) : "";
    if (!floats.empty()) warnings_.push_back(printable(given_) + ": " + floats);
    int found = 0;
    auto fault = choose_field(found, FieldRole::image, options.image, images);
    if (!fault) fault = choose_field(found, FieldRole::label, options.label, labels);
    if (fault) throw Error(*fault, {.file = given_});
  }

  std::string given_;  // path given by the user: the folder, or the file
  Values values_ = Values::images;
  ArrayType type_;  // for pixel_datums and float_datums
  Schema schema_;
  std::vector<std::string> warnings_;
};

}  // namespace

bool looks_like_lmdb(const Probe& probe) {
  if (probe.is_folder) return probe.has("data.mdb");
  return starts_lmdb(probe.first);
}

std::shared_ptr<const Source> open_lmdb(const std::string& path, const SourceOptions& options) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  return std::make_shared<Lmdb>(path, is_folder ? join_path(path, "data.mdb") : path, options);
}

}  // namespace tundish
