// Any bytes as a TFRecord file and as a tf.train.Example: a fault, or fields of the measured size
// within bounded memory.
// parser: src/data/source/formats/records/tf* src/data/source/formats/records/record_index.*
// parser: src/data/source/formats/records/protobuf.*
#include <cstdlib>
#include <vector>

#include "data/source/formats/records/record_index.h"
#include "data/source/formats/records/tf_class_names.h"
#include "data/source/formats/records/tf_layout.h"
#include "data/source/formats/records/tfrecord_reader.h"
#include "data/source/memory_stream.h"
#include "memory_meter.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

// The layout derived from the record itself must read it, and the result has the measured size.
void try_example(Bytes record) {
  TfSurvey survey;
  if (survey.add(record)) return;
  TfLayout layout;
  const bool keep_descriptions = record.size() % 2 == 0;
  if (layout.decide(survey, {}, keep_descriptions)) return;
  require(layout.schema().fields.size() <= kMaxFields);
  std::int64_t label = 0;
  std::uint64_t bytes = 0;
  TfNames names;
  if (layout.measure(label, bytes, record, &names)) return;
  require(names.class_text.size() <= record.size() && names.file_name.size() <= record.size());
  Sample sample;
  std::int64_t read_label = ~label;
  require(!layout.read(sample, read_label, record, kAllFields) && read_label == label);
  std::uint64_t sum = 0;
  for (std::size_t f = 0; f < sample.fields.size(); ++f) {
    sum += sample.fields[f].size();
    const auto& array = layout.schema().fields[f].array;
    if (array) require(sample.fields[f].size() == array_bytes(*array));
  }
  require(sum == bytes);
}

// Names survive being written and read again.
void try_names(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto names = TfClassNames::parse(text);
  if (!names) return;
  const auto again = TfClassNames::parse(names->text());
  require(again && again->text() == names->text());
}

void try_file(Bytes file) {
  MemoryStream stream(file);
  TfRecordReader reader(stream);
  std::vector<std::byte> stored;
  std::uint64_t last = 0;
  while (reader.next()) {
    require(reader.offset() >= last && reader.length() <= file.size());
    require(reader.read(stored));
    last = reader.offset() + reader.length() + kTfRecordTail;
    if (!check_tfrecord(stored)) try_example(Bytes(stored).first(stored.size() - kTfRecordTail));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const MemoryMeter meter(64 * size + (1 << 20));
  try_file(bytes);
  try_example(bytes);
  try_names(bytes);
  if (const auto index = decode_record_index(bytes, "", size)) {
    for (std::size_t i = 0; i < index->size(); ++i) require(index->offsets[i] <= size);
  }
  // Skips the head of the first record, so that changes reach the data behind its checksum.
  if (size > kTfRecordHead + kTfRecordTail) {
    try_example(bytes.subspan(kTfRecordHead, size - kTfRecordHead - kTfRecordTail));
  }
  return 0;
}
