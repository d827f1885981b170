// Input, stack and values of PickleMachine.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "data/source/format.h"
#include "data/source/pickle/pickle_machine.h"
#include "data/source/pickle/pickle_names.h"
#include "data/source/pickle/pickle_text.h"

namespace tundish {

bool PickleMachine::damaged(const char* reason) {
  fault_ = damaged_source(format_, fmt::format("pickle: {}", reason), step_at_);
  return false;
}

bool PickleMachine::refused(std::string reason) {
  fault_ = unsupported_source(format_, "pickle: " + reason, step_at_);
  return false;
}

bool PickleMachine::need(std::size_t bytes) {
  return bytes <= in_.size() - at_ || damaged("the bytes end early");
}

std::optional<std::string_view> PickleMachine::line() {
  const std::string_view rest(reinterpret_cast<const char*>(in_.data()) + at_, in_.size() - at_);
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) {
    damaged("the bytes end early");
    return std::nullopt;
  }
  at_ += end + 1;
  return rest.substr(0, end);
}

std::optional<std::uint64_t> PickleMachine::length(std::size_t bytes) {
  if (!need(bytes)) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, &in_[at_], bytes);
  at_ += bytes;
  return value;
}

std::optional<std::string_view> PickleMachine::counted(std::size_t bytes) {
  const auto size = length(bytes);
  if (!size || !need(*size)) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(in_.data()) + at_, *size);
  at_ += *size;
  return text;
}

bool PickleMachine::push(PickleValue value) {
  if (++values_ > max_values_) {
    return refused(fmt::format("over {} values", with_commas(max_values_)));
  }
  stack_.push_back(value);
  return true;
}

bool PickleMachine::push_integer(std::int64_t value) { return push({PickleKind::integer, value}); }

// Decodes two's complement, little-endian.
bool PickleMachine::push_long(std::string_view bytes) {
  if (bytes.size() > 8) return push_view(PickleKind::big, bytes);
  std::uint64_t value = 0;
  if (!bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80)) value = ~value;
  std::memcpy(&value, bytes.data(), bytes.size());
  return push_integer(static_cast<std::int64_t>(value));
}

bool PickleMachine::push_decimal(std::string_view digits) {
  std::int64_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ptr != digits.data() + digits.size() || digits.empty()) {
    return damaged("a number is malformed");
  }
  if (end.ec == std::errc::result_out_of_range) return push_view(PickleKind::big, digits);
  return end.ec == std::errc() ? push_integer(value) : damaged("a number is malformed");
}

bool PickleMachine::push_view(PickleKind kind, std::string_view text) {
  out_.texts_.push_back(text);
  return push({kind, static_cast<std::int64_t>(out_.texts_.size() - 1)});
}

bool PickleMachine::push_decoded(PickleKind kind, std::optional<std::string> text) {
  if (!text) return damaged("a text is malformed");
  out_.decoded_.push_back(std::move(*text));
  return push_view(kind, out_.decoded_.back());
}

PickleValue PickleMachine::make_items(PickleKind kind, std::vector<PickleValue> items) {
  out_.items_.push_back(std::move(items));
  return {kind, static_cast<std::int64_t>(out_.items_.size() - 1)};
}

bool PickleMachine::push_items(PickleKind kind, std::vector<PickleValue> items) {
  return push(make_items(kind, std::move(items)));
}

bool PickleMachine::push_global(const std::string& name) {
  if (!pickle_name_allowed(name)) {
    constexpr std::size_t kShown = 100;
    return refused(
        fmt::format("it names {}, which is not on the list of names that are read; nothing is run",
                    printable(name.substr(0, kShown))));
  }
  return push_decoded(PickleKind::global, name);
}

std::optional<PickleValue> PickleMachine::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
    damaged("the stack is empty");
    return std::nullopt;
  }
  const PickleValue value = stack_.back();
  stack_.pop_back();
  return value;
}

std::optional<std::vector<PickleValue>> PickleMachine::pop_to_mark() {
  if (marks_.empty()) {
    damaged("there is no mark");
    return std::nullopt;
  }
  const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleValue> values(from, stack_.end());
  stack_.erase(from, stack_.end());
  marks_.pop_back();
  return values;
}

bool PickleMachine::pack(std::size_t count) {
  std::vector<PickleValue> values(count);
  for (std::size_t i = count; i-- > 0;) {
    const auto value = pop();
    if (!value) return false;
    values[i] = *value;
  }
  return push_items(PickleKind::tuple, std::move(values));
}

bool PickleMachine::add(std::vector<PickleValue> values, bool pairs) {
  if (stack_.empty()) return damaged("the stack is empty");
  const PickleValue& to = stack_.back();
  const bool fits =
      pairs ? to.is(PickleKind::dict) : to.is(PickleKind::list) || to.is(PickleKind::set);
  if (!fits || (pairs && values.size() % 2 != 0))
    return damaged("values are added to a value that is not a container");
  std::vector<PickleValue>& items = out_.items_[static_cast<std::size_t>(to.number)];
  items.insert(items.end(), values.begin(), values.end());
  return true;
}

// Decodes bytes that Python 3 wrote for protocols 0 to 2: encode(text, "latin1"). Each use in the
// pickle decodes the text again, so each use counts toward the limit.
bool PickleMachine::encode(const PickleValue& text, const std::vector<PickleValue>& arguments) {
  if (text.is(PickleKind::bytes)) return push(text);
  if (!text.is(PickleKind::text)) return damaged("a text is missing");
  const std::string_view codec = arguments.size() > 1 ? out_.text(arguments[1]) : "latin1";
  if (codec != "latin1" && codec != "latin-1") return refused("a text that is not Latin-1");
  const std::string_view from = out_.text(text);
  decoded_bytes_ += from.size();
  if (decoded_bytes_ > 2 * in_.size()) return refused("texts are decoded over and over");
  return push_decoded(PickleKind::bytes, encode_latin1(from));
}

// Converts containers and bytes to values at once.
std::optional<bool> PickleMachine::reduce_container(std::string_view name,
                                                    const PickleValue& arguments) {
  const bool empty = out_.items(arguments).empty();
  const PickleValue first = empty ? PickleValue{} : out_.items(arguments).front();
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (name == "_codecs.encode" || last == "bytearray" || last == "bytes") {
    if (empty) return push_view(PickleKind::bytes, "");
    return encode(first, out_.items(arguments));
  }
  PickleKind kind = PickleKind::list;
  if (last == "set" || last == "frozenset") {
    kind = PickleKind::set;
  } else if (last == "tuple" || last == "Size") {
    kind = PickleKind::tuple;
  } else if (last == "OrderedDict") {
    kind = PickleKind::dict;
  } else if (last != "list") {
    return std::nullopt;
  }
  if (empty) return push_items(kind, {});
  // Each copy counts, so that a few bytes cannot make many large copies.
  values_ += out_.items(first).size();
  if (values_ > max_values_) return refused("too many values");
  std::vector<PickleValue> items = out_.items(first);
  if (kind != PickleKind::dict) return push_items(kind, std::move(items));
  std::vector<PickleValue> flat;
  for (const PickleValue& pair : items) {
    const std::vector<PickleValue>& two = out_.items(pair);
    if (two.size() != 2) return damaged("a key has no value");
    flat.insert(flat.end(), two.begin(), two.end());
  }
  return push_items(kind, std::move(flat));
}

bool PickleMachine::reduce() {
  const auto arguments = pop();
  const auto name = arguments ? pop() : std::nullopt;
  if (!name) return false;
  if (!name->is(PickleKind::global)) return damaged("it calls a value that is not a name");
  if (!arguments->is(PickleKind::tuple)) return damaged("the arguments of a call are not a tuple");
  if (const auto done = reduce_container(out_.text(*name), *arguments)) return *done;
  out_.objects_.push_back({*name, *arguments, {}});
  return push({PickleKind::object, static_cast<std::int64_t>(out_.objects_.size() - 1)});
}

// Ignores state set on a container (the _metadata of a model's weights).
bool PickleMachine::build() {
  const auto state = pop();
  if (!state) return false;
  if (stack_.empty()) return damaged("the stack is empty");
  const PickleValue& to = stack_.back();
  if (to.is(PickleKind::object)) {
    out_.objects_[static_cast<std::size_t>(to.number)].state = *state;
    return true;
  }
  const bool container = to.is(PickleKind::dict) || to.is(PickleKind::list) ||
                         to.is(PickleKind::set) || to.is(PickleKind::tuple);
  return container || damaged("state is set on a value that is not an object");
}

}  // namespace tundish
