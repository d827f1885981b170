// Any bytes as data from a Python process; the first byte selects the part of a message.
// parser: src/data/source/formats/python/*
#include <algorithm>
#include <cstdlib>

#include "data/source/formats/python/test_messages.h"
#include "memory_meter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  if (size == 0) return 0;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  static const Schema schema = [] {
    PythonDescription about;
    if (parse_description(about, test_description(7).bytes())) std::abort();
    return about.schema;
  }();
  const MemoryMeter meter(100 * size + 65536);
  if (data[0] % 3 == 0) {
    PythonDescription about;
    if (parse_description(about, bytes)) return 0;
    if (about.random_access && about.count > kMaxPythonSamples) std::abort();
    if (about.schema.fields.empty()) std::abort();
  } else if (data[0] % 3 == 1) {
    Sample sample;
    std::int64_t label = 0;
    if (parse_sample(sample, label, schema, bytes)) return 0;
    if (sample.fields[2].size() != 16 || sample.fields[3].size() != 8) std::abort();
  } else {
    std::array<std::byte, kAnswerHeadBytes> head{};
    std::copy_n(bytes.begin(), std::min(bytes.size(), head.size()), head.begin());
    AnswerHead out;
    if (!parse_answer_head(out, head) && out.payload_bytes > kMaxAnswerBytes) std::abort();
  }
  return 0;
}
