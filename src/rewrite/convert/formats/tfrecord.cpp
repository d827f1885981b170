#include <fmt/format.h>

#include <cstring>

#include "codec/decode/decode.h"
#include "data/source/labels.h"
#include "rewrite/convert/formats/example.h"
#include "rewrite/convert/formats/protobuf.h"
#include "rewrite/convert/formats/writers.h"
#include "rewrite/convert/image_ending.h"
#include "rewrite/convert/npy_elements.h"
#include "rewrite/convert/raw_image.h"
#include "rewrite/convert/sharded_output.h"

namespace tundish {
namespace {

std::vector<std::string> shard_names(const std::string& target, std::uint64_t shards) {
  if (shards == 1) return {target};
  std::vector<std::string> out;
  for (std::uint64_t s = 0; s < shards; ++s) {
    out.push_back(fmt::format("{}-{:05}-of-{:05}", target, s, shards));
  }
  return out;
}

class TfRecordWriter : public TargetWriter {
 public:
  explicit TfRecordWriter(const Conversion& conversion)
      : source_(conversion.source),
        schema_(source_.schema()),
        output_(conversion, shard_names(conversion.target, conversion.shards),
                [](OutputStream&) {}) {}

  void add(const ConvertSample& sample) override {
    example_.clear();
    example_.add_bytes("image/filename", sample.key);
    for (std::size_t f = 0; f < schema_.fields.size(); ++f) add_field(sample, f);
    const std::string message = example_.serialize();
    OutputStream& out = output_.of(sample.number);
    out.write(tfrecord_head(message.size()));
    out.write(message);
    out.write(tfrecord_tail(message));
  }

  void finish() override { output_.finish(); }

 private:
  void add_field(const ConvertSample& sample, std::size_t f) {
    const Field& field = schema_.fields[f];
    if (field.type == FieldType::label) return add_label(sample.info.label);
    const Bytes bytes = sample.field(f);
    check_elements(field, sample, bytes);
    if (field.type == FieldType::image) return add_image(sample, field, bytes);
    if (bytes.empty()) return;  // the sample lacks this field
    if (field.type == FieldType::number) {
      example_.add_bytes(field.name, number_text(bytes));
    } else if (field.array) {
      example_.add_array(field.name, *field.array, bytes, false);
    } else if (field.type == FieldType::array) {
      NpyElements array;
      read_npy_elements(array, bytes, sample);
      example_.add_array(field.name, array.type, array.elements, true);
    } else {
      example_.add_bytes(field.name, as_text(bytes));
    }
  }

  // Returns the shortest decimal text that parses to the same double: a float_list would round it.
  static std::string number_text(Bytes bytes) {
    double number = 0;
    if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
    return fmt::format("{}", number);
  }

  void add_label(std::int64_t label) {
    example_.add_integer("image/class/label", label);
    const std::string name = class_name(schema_, label);
    if (!name.empty()) example_.add_bytes("image/class/text", name);
  }

  void add_image(const ConvertSample& sample, const Field& field, Bytes bytes) {
    ImageHeader header;
    if (!source_.read_header(header, sample.number, bytes, Limits{})) {
      example_.add_integer("image/height", header.height);
      example_.add_integer("image/width", header.width);
    }
    bytes = image_file(png_, field, bytes);
    example_.add_bytes("image/encoded", as_text(bytes));
    if (const char* name = image_format_name(bytes); *name) {
      example_.add_bytes("image/format", name);
    }
  }

  const Source& source_;
  const Schema& schema_;
  ShardedOutput output_;
  Example example_;
  std::vector<std::byte> png_;
};

}  // namespace

std::unique_ptr<TargetWriter> make_tfrecord_writer(const Conversion& conversion) {
  return std::make_unique<TfRecordWriter>(conversion);
}

}  // namespace tundish
