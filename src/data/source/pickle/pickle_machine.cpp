#include "data/source/pickle/pickle_machine.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "data/source/format.h"
#include "data/source/pickle/pickle_text.h"

namespace tundish {

std::optional<Fault> PickleMachine::run() {
  for (;;) {
    step_at_ = at_;
    if (!need(1)) return fault_;
    const char code = static_cast<char>(in_[at_++]);
    if (code == '.') {
      const auto root = pop();
      if (!root) return fault_;
      out_.root_ = *root;
      out_.end_ = at_;
      return std::nullopt;
    }
    Step done;
    for (Step (PickleMachine::*group)(char) :
         {&PickleMachine::numbers, &PickleMachine::texts, &PickleMachine::containers,
          &PickleMachine::additions, &PickleMachine::memory, &PickleMachine::calls}) {
      done = (this->*group)(code);
      if (done) break;
    }
    if (!done) {
      damaged(fmt::format("there is no opcode {:#04x}", static_cast<unsigned char>(code)).c_str());
      return fault_;
    }
    if (!*done) return fault_;
  }
}

PickleMachine::Step PickleMachine::numbers(char code) {
  switch (code) {
    case 'N':
      return push({});
    case '\x88':
      return push({PickleKind::boolean, 1});
    case '\x89':
      return push({PickleKind::boolean, 0});
    case 'K':
    case 'M': {
      const auto value = length(code == 'K' ? 1 : 2);
      return value && push_integer(static_cast<std::int64_t>(*value));
    }
    case 'J': {
      const auto value = length(4);
      return value && push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(*value)));
    }
    case '\x8a':
    case '\x8b': {
      const auto bytes = counted(code == '\x8a' ? 1 : 4);
      return bytes && push_long(*bytes);
    }
    case 'I':
    case 'L': {
      auto digits = line();
      if (!digits) return false;
      if (code == 'I' && (*digits == "00" || *digits == "01")) {
        return push({PickleKind::boolean, digits->back() - '0'});
      }
      if (digits->ends_with('L')) digits->remove_suffix(1);
      return push_decimal(*digits);
    }
    case 'G': {
      if (!need(8)) return false;
      const auto bits = __builtin_bswap64(load<std::uint64_t>(&in_[at_]));
      at_ += 8;
      return push({PickleKind::real, static_cast<std::int64_t>(bits)});
    }
    case 'F': {
      const auto digits = line();
      double value = 0;
      if (!digits) return false;
      const auto end = std::from_chars(digits->data(), digits->data() + digits->size(), value);
      if (end.ec != std::errc() || end.ptr != digits->data() + digits->size()) {
        return damaged("a number is malformed");
      }
      return push({PickleKind::real, std::bit_cast<std::int64_t>(value)});
    }
    default:
      return std::nullopt;
  }
}

PickleMachine::Step PickleMachine::texts(char code) {
  const auto view = [&](PickleKind kind, std::size_t bytes) {
    const auto text = counted(bytes);
    return text && push_view(kind, *text);
  };
  switch (code) {
    case 'T':
    case 'B':
      return view(PickleKind::bytes, 4);
    case 'U':
    case 'C':
      return view(PickleKind::bytes, 1);
    case '\x8e':
    case '\x96':
      return view(PickleKind::bytes, 8);
    case 'X':
      return view(PickleKind::text, 4);
    case '\x8c':
      return view(PickleKind::text, 1);
    case '\x8d':
      return view(PickleKind::text, 8);
    case 'S': {
      const auto text = line();
      return text && push_decoded(PickleKind::bytes, unquote_python(*text));
    }
    case 'V': {
      const auto text = line();
      return text && push_decoded(PickleKind::text, unescape_unicode(*text));
    }
    default:
      return std::nullopt;
  }
}

PickleMachine::Step PickleMachine::containers(char code) {
  const auto from_mark = [&](PickleKind kind) {
    auto items = pop_to_mark();
    if (!items) return false;
    if (kind == PickleKind::dict && items->size() % 2 != 0) return damaged("a key has no value");
    return push_items(kind, std::move(*items));
  };
  switch (code) {
    case ')':
      return push_items(PickleKind::tuple, {});
    case ']':
      return push_items(PickleKind::list, {});
    case '}':
      return push_items(PickleKind::dict, {});
    case '\x8f':
      return push_items(PickleKind::set, {});
    case '\x85':
      return pack(1);
    case '\x86':
      return pack(2);
    case '\x87':
      return pack(3);
    case 't':
      return from_mark(PickleKind::tuple);
    case 'l':
      return from_mark(PickleKind::list);
    case 'd':
      return from_mark(PickleKind::dict);
    case '\x91':
      return from_mark(PickleKind::set);
    case '(': {
      if (marks_.size() >= max_values_) return refused("too many values");
      marks_.push_back(stack_.size());
      return true;
    }
    default:
      return std::nullopt;
  }
}

PickleMachine::Step PickleMachine::additions(char code) {
  switch (code) {
    case 'e':
    case 'u':
    case '\x90': {
      auto values = pop_to_mark();
      return values && add(std::move(*values), code == 'u');
    }
    case 'a': {
      const auto value = pop();
      return value && add({*value}, false);
    }
    case 's': {
      const auto value = pop();
      if (!value) return false;
      const auto key = pop();
      return key && add({*key, *value}, true);
    }
    case '0':
      return pop().has_value();
    case '1':
      return pop_to_mark().has_value();
    case '2': {
      const auto value = pop();
      return value && push(*value) && push(*value);
    }
    default:
      return std::nullopt;
  }
}

PickleMachine::Step PickleMachine::memory(char code) {
  std::optional<std::uint64_t> number;
  if (code == 'g' || code == 'p') {
    const auto digits = line();
    std::uint64_t value = 0;
    if (!digits) return false;
    const auto end = std::from_chars(digits->data(), digits->data() + digits->size(), value);
    if (end.ec != std::errc() || end.ptr != digits->data() + digits->size()) {
      return damaged("a number is malformed");
    }
    number = value;
  } else if (code == 'h' || code == 'q') {
    number = length(1);
  } else if (code == 'j' || code == 'r') {
    number = length(4);
  } else if (code == '\x94') {
    number = memo_.size();
  } else {
    return std::nullopt;
  }
  if (!number) return false;
  if (code == 'g' || code == 'h' || code == 'j') {
    const auto found = memo_.find(*number);
    return found == memo_.end() ? damaged("a value is used before it is defined")
                                : push(found->second);
  }
  if (stack_.empty()) return damaged("the stack is empty");
  if (memo_.size() >= max_values_) return refused("too many values");
  memo_[*number] = stack_.back();
  return true;
}

PickleMachine::Step PickleMachine::calls(char code) {
  switch (code) {
    case '\x80': {
      const auto protocol = length(1);
      if (protocol && *protocol > 5) return refused(fmt::format("protocol {}", *protocol));
      return protocol.has_value();
    }
    case '\x95':
      return length(8).has_value();  // a frame: only a hint
    case 'c':
    case 'i': {
      const auto module = line();
      const auto name = module ? line() : std::nullopt;
      if (!name || !push_global(std::string(*module) + "." + std::string(*name))) return false;
      return code == 'c' || refused("it builds objects of a class");
    }
    case '\x93': {
      const auto name = pop();
      const auto module = name ? pop() : std::nullopt;
      if (!module) return false;
      if (!name->is(PickleKind::text) || !module->is(PickleKind::text)) {
        return damaged("a name is not a text");
      }
      return push_global(std::string(out_.text(*module)) + "." + std::string(out_.text(*name)));
    }
    case 'P': {
      const auto text = line();
      if (!text || !push_view(PickleKind::text, *text)) return false;
      [[fallthrough]];
    }
    case 'Q': {
      const auto id = pop();
      if (!id || !push_items(PickleKind::persistent, {*id})) return false;
      out_.persistents_.push_back(stack_.back());
      return true;
    }
    case 'R':
    case '\x81':
      return reduce();
    case 'b':
      return build();
    case 'o':
    case '\x92':
      return refused("it builds objects of a class");
    case '\x82':
    case '\x83':
    case '\x84':
      return refused("it uses registered extensions");
    case '\x97':
    case '\x98':
      return refused("its buffers are outside of it");
    default:
      return std::nullopt;
  }
}

}  // namespace tundish
