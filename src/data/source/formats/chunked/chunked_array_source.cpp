#include "data/source/formats/chunked/chunked_array_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/interruption.h"
#include "codec/decode/raw.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/field_names.h"
#include "data/source/format.h"
#include "data/source/names.h"
#include "data/source/read_memory.h"

namespace tundish {
namespace {

// One array, with the facts that follow from its sample axis.
struct Column {
  NamedArray named;
  std::size_t axis = 0;
  std::uint64_t count = 0;
  ArrayType sample = {};
  bool channels_first = false;
  bool is_image = false;
  bool is_label = false;  // true for a possible label
};

bool is_integer(ArrayElement element) {
  return element <= ArrayElement::uint64 && element != ArrayElement::boolean;
}

constexpr std::uint64_t kMissingPerChunk = 16;

bool is_channels(std::uint64_t side) { return side == 1 || side == 3 || side == 4; }

// Finds a layout that codec/decode/raw.h supports. (3, 32, 3) is read as (H, W, C).
void find_image_layout(Column& column) {
  const auto& shape = column.sample.shape;
  column.channels_first = shape.size() == 3 && !is_channels(shape[2]) && is_channels(shape[0]);
  const bool bytes = column.sample.element == ArrayElement::uint8;
  const bool grays = shape.size() == 2 && column.sample.element == ArrayElement::uint16;
  const bool sides =
      shape.size() == 2 || (shape.size() == 3 && (is_channels(shape[2]) || column.channels_first));
  column.is_image = grays || (bytes && sides);
}

std::size_t axis_of(const ChunkGrid& grid, std::int64_t axis) {
  const auto axes = static_cast<std::int64_t>(grid.shape.size());
  if (axes == 1) return 0;
  const std::int64_t place = axis < 0 ? axis + axes : axis;
  return place < 0 ? grid.shape.size() : static_cast<std::size_t>(place);  // refused later
}

// Reads a label from memory, sign-extended; false if it does not fit int64.
bool label_of(std::int64_t& out, Bytes bytes, ArrayElement element) {
  switch (element) {
    case ArrayElement::int8:
      return out = load<std::int8_t>(bytes.data()), true;
    case ArrayElement::uint8:
      return out = load<std::uint8_t>(bytes.data()), true;
    case ArrayElement::int16:
      return out = load<std::int16_t>(bytes.data()), true;
    case ArrayElement::uint16:
      return out = load<std::uint16_t>(bytes.data()), true;
    case ArrayElement::int32:
      return out = load<std::int32_t>(bytes.data()), true;
    case ArrayElement::uint32:
      return out = load<std::uint32_t>(bytes.data()), true;
    case ArrayElement::int64:
    case ArrayElement::uint64:
      out = load<std::int64_t>(bytes.data());
      return element == ArrayElement::int64 || out >= 0;
    default:
      return false;
  }
}

class ChunkedArraySource : public Source, public ReadMemory, public FileTimes {
 public:
  ChunkedArraySource(const char* format, std::string path, std::vector<NamedArray> arrays,
                     const SourceOptions& options, const std::vector<std::string>& warnings,
                     std::string times)
      : format_(format), path_(std::move(path)), times_(std::move(times)) {
    for (const std::string& text : warnings) warnings_.push_back(printable(path_) + ": " + text);
    schema_.source = format;
    std::vector<Column> columns;
    for (NamedArray& named : arrays) {
      if (named.names_classes) continue;
      add_column(columns, std::move(named), options.axis);
    }
    if (columns.empty()) {
      throw Error(ErrorCode::source_empty, {.file = path_},
                  warnings_.empty() ? "it has no arrays" : warnings_.front());
    }
    choose(std::move(columns), options);
    for (const NamedArray& named : arrays) {
      if (named.names_classes) name_classes(named);
    }
  }

  std::uint64_t count() const override { return count_; }
  const Schema& schema() const override { return schema_; }
  std::string path() const override { return path_; }
  std::string key(std::uint64_t i) const override { return fmt::format("{:08}", i); }
  std::uint64_t bytes(std::uint64_t) const override { return sizes_known_ ? sample_bytes_ : 0; }
  bool sizes_known() const override { return sizes_known_; }
  std::string file_times() const override { return times_.empty() ? stamp_below(path_) : times_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  SampleInfo info(std::uint64_t i) const override {
    SampleInfo info = info_;
    if (!labels_.empty()) info.label = labels_[i];
    return info;
  }

  std::uint64_t memory() const override {
    std::uint64_t sum = labels_.size() * sizeof(std::int64_t);
    for (const Column& column : columns_) sum += column.named.array->memory();
    return sum;
  }
  std::uint64_t memory_while_reading() const override {
    std::uint64_t most = 0;
    for (const Column& column : columns_) {
      most = std::max(most, column.named.array->memory_while_reading());
    }
    return most;
  }
  void keep_at_most(std::uint64_t bytes) const override {
    for (const Column& column : columns_) {
      column.named.array->keep_at_most(bytes / columns_.size());
    }
  }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    out.fields.resize(schema_.fields.size());
    for (std::vector<std::byte>& field : out.fields) field.clear();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if ((fields >> c & 1) == 0) continue;
      try {
        columns_[c].named.array->read_sample(out.fields[c], columns_[c].axis, i);
        if (!columns_[c].named.resolve) continue;
        columns_[c].named.resolve(out.fields[c]);
        if (out.fields[c].empty() && schema_.fields[c].type == FieldType::image) {
          throw Error(ErrorCode::file_empty, {}, "the image has no bytes");
        }
      } catch (const Error& error) {
        Where where = error.where();
        if (where.file.empty()) where.file = path_;
        where.record = i;
        where.key = key(i);
        throw SampleError(error.code(), where, error.reason());
      }
    }
  }

 private:
  void add_column(std::vector<Column>& columns, NamedArray named, std::int64_t axis) {
    Column column{.named = std::move(named)};
    const ChunkGrid& grid = column.named.array->grid();
    column.axis = column.named.resolve ? 0 : axis_of(grid, axis);
    auto fault = sample_type(column.sample, grid, column.axis);
    if (!fault && grid.shape[column.axis] > column.named.max_samples) {
      fault = chunk_unsupported(
          fmt::format("{} samples in so few bytes, at most {} are read",
                      with_commas(grid.shape[column.axis]), with_commas(column.named.max_samples)),
          0);
    }
    if (fault) {
      warnings_.push_back(fmt::format("{}: array {} is left out: {}", printable(path_),
                                      printable(column.named.name), fault->reason));
      return;
    }
    column.count = grid.shape[column.axis];
    if (column.named.resolve) {
      column.is_image = true;  // encoded; the bytes are checked on reading
      columns.push_back(std::move(column));
      return;
    }
    find_image_layout(column);
    column.is_label = is_integer(column.sample.element) &&
                      *array_bytes(column.sample) == element_bytes(column.sample.element);
    columns.push_back(std::move(column));
  }

  static std::vector<FieldCandidate> candidates_of(const std::vector<Column>& columns,
                                                   FieldRole role) {
    std::vector<FieldCandidate> candidates;
    for (const Column& column : columns) {
      candidates.push_back(
          {column.named.name, role == FieldRole::image ? column.is_image : column.is_label});
    }
    return candidates;
  }

  static int pick(const std::vector<Column>& columns, FieldRole role, const std::string& wanted,
                  const std::string& path) {
    const std::vector<FieldCandidate> candidates = candidates_of(columns, role);
    int out = -1;
    if (const auto fault = choose_field(out, role, wanted, candidates)) {
      throw Error(*fault, {.file = path});
    }
    return out;
  }

  void choose(std::vector<Column> columns, const SourceOptions& options) {
    const int image = pick(columns, FieldRole::image, options.image, path_);
    const int label = pick(columns, FieldRole::label, options.label, path_);
    warn_of_roles(columns, image >= 0, label >= 0);
    const auto at = [&](int n) -> Column& { return columns[static_cast<std::size_t>(n)]; };
    count_ = image >= 0 ? at(image).count : label >= 0 ? at(label).count : columns[0].count;
    if (count_ == 0) throw Error(ErrorCode::source_empty, {.file = path_}, "its arrays are empty");
    if (label >= 0 && at(label).count != count_) {
      throw Error(
          ErrorCode::field_unclear, {.file = path_},
          fmt::format("{}: {} has {} samples, {} has {}: write it with as many labels as images",
                      format_, printable(at(label).named.name), at(label).count,
                      printable(at(image).named.name), count_));
    }
    if (image >= 0) add_field(std::move(at(image)), FieldType::image);
    for (int c = 0; c < static_cast<int>(columns.size()); ++c) {
      if (c != image && c != label) add_other(std::move(at(c)));
    }
    if (label >= 0) add_label(at(label));
  }

  void warn_of_roles(const std::vector<Column>& columns, bool has_image, bool has_label) {
    const auto warn = [&](const std::string& text) {
      if (!text.empty()) warnings_.push_back(printable(path_) + ": " + text);
    };
    if (!has_label) warn(no_label_warning(candidates_of(columns, FieldRole::label), has_image));
    for (const Column& column : columns) {
      const bool plain = !has_image && !column.named.resolve;
      if (plain) warn(float_picture_warning(column.named.name, column.sample));
    }
  }

  void add_other(Column column) {
    if (column.count != count_ || schema_.fields.size() >= kMaxFields - 1) {
      warnings_.push_back(fmt::format("{}: array {} is left out: it has {} samples, not {}",
                                      printable(path_), printable(column.named.name), column.count,
                                      count_));
      return;
    }
    add_field(std::move(column), FieldType::array);
  }

  void add_field(Column column, FieldType type) {
    if (column.named.resolve) {
      const FieldType kind = type == FieldType::image ? type : FieldType::bytes;
      schema_.fields.push_back({.name = field_name(column.named.name, type), .type = kind});
      sizes_known_ = false;
      columns_.push_back(std::move(column));
      return;
    }
    schema_.fields.push_back({.name = field_name(column.named.name, type),
                              .type = type,
                              .array = column.sample,
                              .channels_first = type == FieldType::image && column.channels_first});
    sample_bytes_ += *array_bytes(column.sample);
    if (type == FieldType::image) describe(schema_.fields.back());
    columns_.push_back(std::move(column));
  }

  void describe(const Field& image) {
    const std::size_t first = image.channels_first ? 1 : 0;
    info_.height = static_cast<std::uint32_t>(image.array->shape[first]);
    info_.width = static_cast<std::uint32_t>(image.array->shape[first + 1]);
    info_.codec = Codec::raw;
  }

  // The names "image" and "label" are reserved; another array with such a name gets a "_" suffix.
  std::string field_name(std::string name, FieldType type) const {
    if (type == FieldType::image) return "image";
    const auto taken = [&](const Field& field) { return field.name == name; };
    while (name == "image" || name == "label" ||
           std::any_of(schema_.fields.begin(), schema_.fields.end(), taken)) {
      name += '_';
    }
    return name;
  }

  void add_label(const Column& column) {
    labels_.reserve(count_);
    const auto take = [&](Bytes element) {
      std::int64_t label = 0;
      const bool fits = label_of(label, element, column.sample.element);
      if (!fits || label < -1) {
        const std::uint64_t i = labels_.size();
        throw Error(ErrorCode::label_unreadable, {.file = path_, .record = i, .key = key(i)},
                    fits ? fmt::format("{} is no label", label) : "the label is over 2^63 - 1");
      }
      labels_.push_back(label);
    };
    std::uint64_t missing = 0, found = 0;
    while (labels_.size() < count_) {
      check_stop(path_);
      const bool exists = column.named.array->visit_elements(column.axis, labels_.size(), take);
      ++(exists ? found : missing);
      if (missing > column.named.max_missing_chunks + kMissingPerChunk * found) {
        throw Error(unsupported_source(
                        format_, fmt::format("array {}: over {} of its first {} chunks are missing",
                                             printable(column.named.name), with_commas(missing - 1),
                                             with_commas(missing + found))),
                    {.file = path_});
      }
    }
    schema_.fields.push_back({.name = "label", .type = FieldType::label});
  }

  // Omits texts that cannot be names of classes.
  void name_classes(const NamedArray& named) {
    const char* wrong = nullptr;
    std::vector<std::string> names;
    try {
      wrong = read_classes(names, named);
    } catch (const Error&) {
      wrong = "one cannot be read";
    }
    for (const std::int64_t label : labels_) {
      if (!wrong && label >= static_cast<std::int64_t>(names.size())) {
        wrong = "there are labels without one";
      }
    }
    if (!wrong) {
      schema_.classes = std::move(names);
      return;
    }
    warnings_.push_back(fmt::format("{}: {} does not name the classes: {}", printable(path_),
                                    printable(named.name), wrong));
  }

  // Returns the fault of the names; nullptr if there is none.
  const char* read_classes(std::vector<std::string>& out, const NamedArray& named) const {
    constexpr std::uint64_t kMaxClasses = 1'000'000;
    constexpr std::size_t kMaxBytes = 16 << 20;
    const std::uint64_t count = named.array->grid().shape[0];
    if (labels_.empty()) return "there are no labels";
    if (count > kMaxClasses) return "there are over 1,000,000";
    std::set<std::string> known;
    std::vector<std::byte> bytes;
    std::size_t sum = 0;
    for (std::uint64_t c = 0; c < count; ++c) {
      named.array->read_sample(bytes, 0, c);
      named.resolve(bytes);
      std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      name.resize(name.find_last_not_of('\0') + 1);  // some writers include the terminating zero
      if ((sum += name.size()) > kMaxBytes) return "they are over 16 MiB long";
      if (name.empty() || !is_utf8(name)) return "one is empty or not UTF-8";
      if (!known.insert(name).second) return "one occurs twice";
      out.push_back(std::move(name));
    }
    return nullptr;
  }

  const char* format_;
  std::string path_;
  std::string times_;  // empty: see open_chunked_arrays()
  Schema schema_;
  std::vector<Column> columns_;  // for the fields with bytes, in field order
  std::vector<std::int64_t> labels_;
  SampleInfo info_;  // for every sample, except the label
  std::vector<std::string> warnings_;
  std::uint64_t count_ = 0;
  std::uint64_t sample_bytes_ = 0;
  bool sizes_known_ = true;
};

}  // namespace

std::shared_ptr<const Source> open_chunked_arrays(const char* format, const std::string& path,
                                                  std::vector<NamedArray> arrays,
                                                  const SourceOptions& options,
                                                  const std::vector<std::string>& warnings,
                                                  const std::string& times) {
  return std::make_shared<ChunkedArraySource>(format, path, std::move(arrays), options, warnings,
                                              times);
}

}  // namespace tundish
