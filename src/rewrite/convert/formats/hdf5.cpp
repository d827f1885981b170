#include "rewrite/convert/formats/writers.h"

#ifdef TUNDISH_HDF5
#include <fmt/format.h>

#include "data/source/formats/chunked/hdf5_index.h"
#include "rewrite/convert/field_file_names.h"
#include "rewrite/convert/formats/hdf5_file.h"
#include "rewrite/convert/formats/protobuf.h"
#include "rewrite/convert/npy_elements.h"
#endif

namespace tundish {
#ifdef TUNDISH_HDF5
namespace {

class Hdf5Writer : public TargetWriter {
 public:
  explicit Hdf5Writer(const Conversion& conversion)
      : schema_(conversion.source.schema()),
        report_(conversion.report),
        file_(conversion.target, conversion.replace) {
    const std::uint64_t count = conversion.source.count();
    const std::vector<std::string> names = field_file_names(schema_);
    for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
      columns_.push_back(file_.add_dataset(names[f], kind_of(schema_.fields[f]), count));
    }
    key_ = file_.add_dataset(kHdf5Keys, Hdf5Entry::text(), count);
  }

  void add(const ConvertSample& sample) override {
    check_text(sample, sample.key);
    for (std::size_t f = 0; f < schema_.fields.size(); ++f) check(sample, f);
    for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
      const bool label = schema_.fields[f].type == FieldType::label;
      const Bytes number = std::as_bytes(std::span(&sample.info.label, 1));
      file_.write(columns_[f], row_, label ? number : sample.field(f));
    }
    file_.write(key_, row_, std::as_bytes(std::span(sample.key)));
    ++row_;
  }

  void finish() override {
    for (const std::size_t column : columns_) file_.shorten(column, row_);
    file_.shorten(key_, row_);
    if (schema_.find(FieldType::label) >= 0 && !schema_.classes.empty()) write_classes();
    report_.bytes += file_.commit();
    ++report_.files;
  }

 private:
  static Hdf5Entry kind_of(const Field& field) {
    if (field.type == FieldType::label) return Hdf5Entry::array({ArrayElement::int64, {}});
    if (field.type == FieldType::number) return Hdf5Entry::array({ArrayElement::float64, {}});
    if (field.array) return Hdf5Entry::array(*field.array);
    return field.type == FieldType::text ? Hdf5Entry::text() : Hdf5Entry::bytes();
  }

  // Must be called before anything is written.
  void check(const ConvertSample& sample, std::size_t f) const {
    const Field& field = schema_.fields[f];
    if (field.type == FieldType::label) return;
    check_elements(field, sample, sample.field(f));
    if (field.type == FieldType::text) check_text(sample, as_text(sample.field(f)));
    if (field.type != FieldType::number || sample.field(f).size() == sizeof(double)) return;
    throw SampleError(ErrorCode::image_damaged, sample.where(),
                      fmt::format("field '{}' is no number", printable(field.name)));
  }

  static void check_text(const ConvertSample& sample, std::string_view text) {
    if (text.find('\0') == text.npos) return;
    throw SampleError(ErrorCode::argument, sample.where(),
                      "a text holds a zero byte, where a string of HDF5 ends");
  }

  void write_classes() {
    const std::size_t classes =
        file_.add_dataset("classes", Hdf5Entry::text(), schema_.classes.size());
    for (std::size_t c = 0; c < schema_.classes.size(); ++c) {
      const std::string name = schema_.classes[c].c_str();  // truncated at a zero byte
      file_.write(classes, c, std::as_bytes(std::span(name)));
    }
  }

  const Schema& schema_;
  ConvertReport& report_;
  Hdf5File file_;
  std::vector<std::size_t> columns_;  // by field number
  std::size_t key_ = 0;
  std::uint64_t row_ = 0;
};

}  // namespace

std::unique_ptr<TargetWriter> make_hdf5_writer(const Conversion& conversion) {
  return std::make_unique<Hdf5Writer>(conversion);
}
#else
std::unique_ptr<TargetWriter> make_hdf5_writer(const Conversion& conversion) {
  throw Error(ErrorCode::format_not_built, {.file = conversion.target},
              "this build has no libhdf5");
}
#endif

}  // namespace tundish
