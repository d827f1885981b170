// Any bytes as a pickle: values whose references lead to values, or a fault.
// parser: src/data/source/pickle/*
#include "data/source/pickle/pickle.h"

#include <cstdlib>

#include "base/error.h"
#include "data/source/pickle/pickle_arrays.h"
#include "data/source/pickle/pickle_names.h"
#include "memory_meter.h"

namespace {

using namespace tundish;

constexpr int kMaxDepth = 64;

void require(bool claim) {
  if (!claim) std::abort();
}

// Values may contain themselves, and few bytes may encode many values, hence the limits.
void walk(const Pickle& pickle, const PickleValue& value, int depth, int& left) {
  if (depth == kMaxDepth || --left < 0) return;
  (void)pickle.text(value).size();
  (void)read_integer(pickle, value);
  if (value.is(PickleKind::global)) require(pickle_name_allowed(pickle.text(value)));
  for (const PickleValue& item : pickle.items(value)) walk(pickle, item, depth + 1, left);
  if (value.is(PickleKind::dict)) require(pickle.items(value).size() % 2 == 0);
  if (!value.is(PickleKind::object)) return;
  require(pickle_name_allowed(pickle.calls(value)));
  walk(pickle, pickle.object(value).arguments, depth + 1, left);
  walk(pickle, pickle.object(value).state, depth + 1, left);
  if (const auto array = read_numpy(pickle, value)) {
    require(array_bytes(array->layout.type) == pickle.text(array->bytes).size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryMeter meter(512 * size + (8 << 20));
  Pickle pickle;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto fault = pickle.read(bytes, "fuzz")) {
    require(fault->code == ErrorCode::source_damaged ||
            fault->code == ErrorCode::format_unsupported);
    require(fault->offset <= size);
    return 0;
  }
  require(pickle.end() <= size);
  int left = 10'000;
  walk(pickle, pickle.root(), 0, left);
  return 0;
}
