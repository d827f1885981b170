// Any bytes as a filter: clauses, or a fault within the text. Any clauses against a sample.
// parser: src/data/source/views/filter* src/data/source/views/glob.h
#include "data/source/views/filter.h"

#include <cstdlib>
#include <string>

#include "data/source/memory_source.h"
#include "data/source/views/glob.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

const MemorySource& samples() {
  static const MemorySource source = [] {
    MemorySource out = image_source(3, 8);
    out.schema_.fields.push_back({"camera", FieldType::text});
    for (auto& item : out.items) item.fields.push_back(bytes_of("left"));
    return out;
  }();
  return source;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<FilterClause> clauses;
  if (const auto fault = parse_filter(clauses, text)) {
    require(fault->code == ErrorCode::argument && !fault->reason.empty() && fault->offset <= size);
    return 0;
  }
  require(!clauses.empty());
  for (const FilterClause& clause : clauses) require(!clause.name.empty());
  try {
    const SampleFilter filter(clauses, samples());
    Sample sample;
    for (std::uint64_t i = 0; i < samples().count(); ++i) {
      samples().read(sample, i, kAllFields);
      filter.takes(samples(), i, &sample);
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::argument);
  }
  const std::string_view half = text.substr(0, size / 2);
  matches_glob(half, text.substr(size / 2));
  require(matches_glob("*", text));
  return 0;
}
