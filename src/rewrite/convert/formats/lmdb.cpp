#include <fmt/format.h>

#include "data/source/names.h"
#include "rewrite/convert/formats/caffe_datum_message.h"
#include "rewrite/convert/formats/lmdb_tree_writer.h"
#include "rewrite/convert/formats/protobuf.h"
#include "rewrite/convert/formats/writers.h"
#include "rewrite/convert/npy_elements.h"
#include "rewrite/convert/raw_image.h"
#include "rewrite/convert/target_folder.h"

namespace tundish {
namespace {

// Matches a source without an image: a float32 array with three sides is Datum's float_data.
bool is_float_datum(const Field& field) {
  return field.type == FieldType::array && field.array && field.array->shape.size() == 3 &&
         field.array->element == ArrayElement::float32;
}

int find_data(const Schema& schema) {
  if (const int image = schema.find(FieldType::image); image >= 0) return image;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (is_float_datum(schema.fields[f])) return static_cast<int>(f);
  }
  return -1;
}

std::size_t data_field(const Source& source) {
  const int field = find_data(source.schema());
  if (field >= 0) return static_cast<std::size_t>(field);
  throw Error(ErrorCode::argument, {.file = source.path()},
              "it has no image, and no array of float32 with three sides: --to lmdb holds one of "
              "these per sample. Choose --to hdf5 or --to npy");
}

class LmdbWriter : public TargetWriter {
 public:
  explicit LmdbWriter(const Conversion& conversion)
      : schema_(conversion.source.schema()),
        report_(conversion.report),
        data_(data_field(conversion.source)),
        labels_(schema_.find(FieldType::label) >= 0),
        folder_(conversion.target),
        out_(join_path(conversion.target, "data.mdb"), conversion.replace),
        tree_(out_) {
    for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
      const Field& field = schema_.fields[f];
      if (f == data_ || field.type == FieldType::label) continue;
      report_.left_out.push_back(fmt::format(
          "field '{}': an LMDB value holds the image and the label only", printable(field.name)));
    }
    if (labels_ && !schema_.classes.empty()) {
      report_.left_out.push_back(
          fmt::format("the names of the {} classes: an LMDB value has the number only",
                      with_commas(schema_.classes.size())));
    }
  }

  void add(const ConvertSample& sample) override {
    const Field& field = schema_.fields[data_];
    const Bytes bytes = sample.field(data_);
    check_elements(field, sample, bytes);
    std::string key = fmt::format("{:08}_{}", sample.number, sample.key);
    if (key.size() > kMaxLmdbKey) key.resize(kMaxLmdbKey);  // the number in front keeps it unique
    if (labels_ || field.array) {
      tree_.add(key, datum_of(sample, field, bytes));
    } else {
      tree_.add(key, as_text(bytes));
    }
  }

  void finish() override {
    tree_.finish();
    report_.bytes += out_.offset();
    out_.commit();
    ++report_.files;
    folder_.keep();
  }

 private:
  std::string datum_of(const ConvertSample& sample, const Field& field, Bytes bytes) {
    const std::int64_t label = labels_ ? sample.info.label : -1;
    if (label > INT32_MAX || label < INT32_MIN) {
      throw SampleError(ErrorCode::label_unreadable, sample.where(),
                        fmt::format("a Datum's label has 32 bits, {} does not fit", label));
    }
    DatumMessage datum{.label = label};
    if (is_float_datum(field)) {
      const std::vector<std::uint64_t>& shape = field.array->shape;
      datum.channels = shape[0], datum.height = shape[1], datum.width = shape[2];
      datum.floats = as_text(bytes);
    } else if (field.array && field.array->element == ArrayElement::uint8) {
      const RawLayout layout = raw_layout(field);
      raw_to_planes(buffer_, field, bytes);
      datum.channels = layout.channels, datum.height = layout.height, datum.width = layout.width;
      datum.data = as_text(buffer_);
    } else {
      datum.data = as_text(image_file(buffer_, field, bytes));  // 16-bit raw pixels: a PNG
      datum.encoded = true;
    }
    return datum_bytes(datum);
  }

  const Schema& schema_;
  ConvertReport& report_;
  const std::size_t data_;  // field number
  const bool labels_;
  TargetFolder folder_;
  OutputStream out_;
  LmdbTreeWriter tree_;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::unique_ptr<TargetWriter> make_lmdb_writer(const Conversion& conversion) {
  return std::make_unique<LmdbWriter>(conversion);
}

}  // namespace tundish
