#include "data/source/formats/records/pickled_pair.h"

#include "data/source/format.h"
#include "data/source/pickle/pickle_arrays.h"

namespace tundish {

// A pair with a NumPy label has about 20 values; more would only waste memory.
constexpr std::size_t kMaxPairValues = 1000;

bool starts_pickle(Bytes value) {
  return value.size() > 2 && value[0] == std::byte{0x80} && value[1] <= std::byte{5};
}

std::optional<Fault> parse_pickled_pair(PickledPair& out, Bytes value) {
  out.image = {};
  out.label = -1;
  if (auto fault = out.pickle.read(value, "LMDB", kMaxPairValues)) return fault;
  const PickleValue& root = out.pickle.root();
  const auto& pair = out.pickle.items(root);
  const bool two = (root.is(PickleKind::tuple) || root.is(PickleKind::list)) && pair.size() == 2;
  const auto label = two ? read_integer(out.pickle, pair[1]) : std::nullopt;
  if (!label || !pair[0].is(PickleKind::bytes)) {
    return unsupported_source("LMDB", "pickle: it is not (bytes of an image file, label)");
  }
  const std::string_view image = out.pickle.text(pair[0]);
  if (image.empty()) return damaged_source("LMDB", "pickle: the image is empty", 0);
  out.image = std::as_bytes(std::span(image));
  out.label = *label;
  return std::nullopt;
}

}  // namespace tundish
