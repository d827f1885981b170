#include "data/source/pickle/pickle.h"

#include <bit>

#include "data/source/pickle/pickle_machine.h"

namespace tundish {

std::optional<Fault> Pickle::read(Bytes bytes, const char* format, std::size_t max_values) {
  *this = {};
  bytes_ = bytes;
  return PickleMachine(*this, bytes, format, max_values).run();
}

std::string_view Pickle::text(const PickleValue& value) const {
  switch (value.kind) {
    case PickleKind::text:
    case PickleKind::bytes:
    case PickleKind::big:
    case PickleKind::global:
      return texts_[static_cast<std::size_t>(value.number)];
    default:
      return {};
  }
}

double Pickle::real(const PickleValue& value) const { return std::bit_cast<double>(value.number); }

const std::vector<PickleValue>& Pickle::items(const PickleValue& value) const {
  static const std::vector<PickleValue> none;
  switch (value.kind) {
    case PickleKind::list:
    case PickleKind::tuple:
    case PickleKind::dict:
    case PickleKind::set:
    case PickleKind::persistent:
      return items_[static_cast<std::size_t>(value.number)];
    default:
      return none;
  }
}

const Pickle::Object& Pickle::object(const PickleValue& value) const {
  return objects_[static_cast<std::size_t>(value.number)];
}

std::string_view Pickle::calls(const PickleValue& value) const {
  return value.is(PickleKind::object) ? text(object(value).name) : std::string_view();
}

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  if (!dict.is(PickleKind::dict)) return nullptr;
  const std::vector<PickleValue>& pairs = items(dict);
  for (std::size_t i = pairs.size() / 2 * 2; i > 0;) {  // among equal keys, Python keeps the last
    i -= 2;
    const bool named = pairs[i].is(PickleKind::text) || pairs[i].is(PickleKind::bytes);
    if (named && text(pairs[i]) == key) return &pairs[i + 1];
  }
  return nullptr;
}

std::optional<std::size_t> Pickle::place(const PickleValue& value) const {
  const std::string_view view = text(value);
  const auto* base = reinterpret_cast<const char*>(bytes_.data());
  if (bytes_.empty() || view.data() < base || view.data() + view.size() > base + bytes_.size()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(view.data() - base);
}

}  // namespace tundish
