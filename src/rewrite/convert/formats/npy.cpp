#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>

#include "codec/decode/decode.h"
#include "data/source/formats/npy_arrays.h"
#include "data/source/names.h"
#include "rewrite/convert/completed_files.h"
#include "rewrite/convert/field_file_names.h"
#include "rewrite/convert/formats/writers.h"
#include "rewrite/convert/npy_elements.h"
#include "rewrite/convert/output_stream.h"
#include "rewrite/convert/target_folder.h"

namespace tundish {
namespace {

constexpr std::uint64_t kManySamples = 99'999'999'999;  // no dataset has a number with more digits

// Collects consecutive rows of a decoded image.
class RowSink : public StripSink {
 public:
  RowSink(std::vector<std::byte>& out, std::size_t width) : out_(out), row_(3 * width) {}
  void push(const Strip& strip) override {
    for (int y = 0; y < strip.rows; ++y) {
      const auto* from = reinterpret_cast<const std::byte*>(strip.pixels + y * strip.stride);
      out_.insert(out_.end(), from, from + row_);
    }
  }

 private:
  std::vector<std::byte>& out_;
  std::size_t row_;
};

// One file. The head is rewritten at the end, when the number of samples is known.
struct Column {
  std::size_t field = 0;
  std::string path = {};
  std::unique_ptr<OutputStream> out = {};
  std::optional<ArrayType> type = {};  // type of one sample; empty before the first sample
  std::size_t head = 0;                // bytes
};

std::string head_of(const ArrayType& sample, std::uint64_t count, std::size_t bytes) {
  ArrayType all = sample;
  all.shape.insert(all.shape.begin(), count);
  return bytes == 0 ? npy_head(all) : padded_npy_head(all, bytes);
}

class NpyWriter : public TargetWriter {
 public:
  explicit NpyWriter(const Conversion& conversion)
      : source_(conversion.source),
        schema_(source_.schema()),
        report_(conversion.report),
        target_(conversion.target),
        folder_(conversion.target),
        completed_(conversion.replace) {
    const std::vector<std::string> names = field_file_names(schema_);
    for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
      const Field& field = schema_.fields[f];
      if (field.type == FieldType::text || field.type == FieldType::bytes) {
        report_.left_out.push_back(
            fmt::format("field '{}': .npy files hold numbers only", printable(field.name)));
        continue;
      }
      Column column{.field = f, .path = join_path(target_, names[f] + ".npy")};
      column.out = std::make_unique<OutputStream>(column.path, conversion.replace);
      fix_type(column, field);
      columns_.push_back(std::move(column));
    }
    if (schema_.find(FieldType::image) >= 0) refuse_other_labels(names);
    if (columns_.empty()) {
      throw Error(ErrorCode::argument, {.file = source_.path()},
                  "it has no image, label or array: --to npy holds numbers only");
    }
  }

  void add(const ConvertSample& sample) override {
    values_.resize(columns_.size());
    std::vector<ArrayType> types(columns_.size());
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      types[c] = read_value(values_[c], sample, columns_[c].field);
      const std::optional<ArrayType>& first = columns_[c].type;
      if (first && types[c] != *first) refuse_shape(sample, columns_[c].field, types[c], *first);
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      Column& column = columns_[c];
      if (!column.type) column.type = types[c];
      if (column.head == 0) write_head(column);
      column.out->write(values_[c]);
    }
    ++count_;
  }

  void finish() override {
    for (Column& column : columns_) {
      const std::string head = head_of(*column.type, count_, column.head);
      column.out->rewrite(std::as_bytes(std::span(head)), 0);
    }
    for (Column& column : columns_) {
      report_.bytes += column.out->offset();
      completed_.add(column.path, *column.out);
      ++report_.files;
    }
    completed_.publish();
    folder_.keep();
  }

 private:
  // Labels of an earlier conversion would be taken for the labels of the new images.
  void refuse_other_labels(const std::vector<std::string>& names) const {
    for (const std::string& path : npy_label_files(join_path(target_, "image.npy"))) {
      const auto is_written = [&](const std::string& name) {
        return join_path(target_, name + ".npy") == path;
      };
      if (std::any_of(names.begin(), names.end(), is_written)) return;
      struct stat status;
      if (::lstat(path.c_str(), &status) != 0) continue;
      throw Error(ErrorCode::argument, {.file = path},
                  "it would be taken for the labels of image.npy; remove it, or choose another "
                  "folder");
    }
  }

  static void fix_type(Column& column, const Field& field) {
    if (field.type == FieldType::label) column.type = ArrayType{ArrayElement::int64, {}};
    if (field.type == FieldType::number) column.type = ArrayType{ArrayElement::float64, {}};
    if (field.array) column.type = field.array;
  }

  static void write_head(Column& column) {
    const std::string head = head_of(*column.type, kManySamples, 0);
    column.head = head.size();
    column.out->write(head);
  }

  ArrayType read_value(std::vector<std::byte>& out, const ConvertSample& sample, std::size_t f) {
    const Field& field = schema_.fields[f];
    if (field.type == FieldType::label) {
      out.resize(sizeof(std::int64_t));
      store(out.data(), sample.info.label);
      return {ArrayElement::int64, {}};
    }
    const Bytes bytes = sample.field(f);
    check_elements(field, sample, bytes);
    if (field.array || field.type == FieldType::number) {
      out.assign(bytes.begin(), bytes.end());
      if (field.type == FieldType::number) out.resize(sizeof(double));
      return field.array.value_or(ArrayType{ArrayElement::float64, {}});
    }
    const bool is_npy = sniff(bytes) == Codec::npy;
    if (field.type == FieldType::image && !is_npy) return decode_image(out, sample, bytes);
    NpyElements array;
    read_npy_elements(array, bytes, sample);
    out = std::move(array.elements);
    return array.type;
  }

  ArrayType decode_image(std::vector<std::byte>& out, const ConvertSample& sample, Bytes bytes) {
    const Where where = sample.where();
    ImageHeader header;
    // The bytes are the bytes of the original file, even from a pack that re-coded the file.
    if (const auto fault = read_header(header, bytes)) throw SampleError(*fault, where);
    out.clear();
    out.reserve(std::size_t{3} * header.width * header.height);
    RowSink sink(out, header.width);
    const Window window{0, 0, static_cast<int>(header.width), static_cast<int>(header.height)};
    if (const auto fault = decode(sink, bytes, header, window, scratch_)) {
      throw SampleError(*fault, where);
    }
    return {ArrayElement::uint8, {header.height, header.width, 3}};
  }

  [[noreturn]] void refuse_shape(const ConvertSample& sample, std::size_t field,
                                 const ArrayType& type, const ArrayType& first) const {
    throw Error(
        ErrorCode::argument, {.file = source_.path(), .record = sample.number, .key = sample.key},
        fmt::format(
            "field '{}' is {}, in the first sample it is {}: --to npy holds one shape. Make "
            "images of one size with tundish pack --resize WxH, or choose another --to",
            printable(schema_.fields[field].name), array_text(type), array_text(first)));
  }

  const Source& source_;
  const Schema& schema_;
  ConvertReport& report_;
  const std::string target_;
  TargetFolder folder_;  // declared before the files, which are removed first
  CompletedFiles completed_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::byte>> values_;  // values of one sample, by column
  std::uint64_t count_ = 0;
  DecodeScratch scratch_;
};

}  // namespace

std::string padded_npy_head(const ArrayType& type, std::size_t bytes) {
  constexpr std::size_t kFixed = 10;  // magic, version, length
  std::string head = npy_head(type);
  if (head.size() > bytes || bytes - kFixed > 0xffff) throw std::logic_error("a head too short");
  head.insert(head.size() - 1, bytes - head.size(), ' ');
  head[8] = static_cast<char>((bytes - kFixed) & 0xff);
  head[9] = static_cast<char>((bytes - kFixed) >> 8);
  return head;
}

std::unique_ptr<TargetWriter> make_npy_writer(const Conversion& conversion) {
  return std::make_unique<NpyWriter>(conversion);
}

}  // namespace tundish
