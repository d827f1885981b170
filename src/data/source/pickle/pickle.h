// Python pickles, protocols 0 to 5, as values. Nothing is ever executed: the only names that a
// pickle may use are those of a list (pickle_names.h), and what they would build is kept as data.
// Total: any bytes give values or a fault, in memory within the limits below. Values may contain
// themselves: whoever walks through them needs a limit of depth.
//
//   Pickle pickle;
//   if (auto fault = pickle.read(bytes, "LMDB")) return fault;     // (image bytes, label)
//   const auto& pair = pickle.items(pickle.root());
//   pickle.text(pair[0]); read_integer(pickle, pair[1]);           // pickle_arrays.h
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

inline constexpr std::size_t kMaxPickleValues = 4'000'000;  // about 100 bytes each

enum class PickleKind : std::uint8_t {
  none,
  boolean,  // integer()
  integer,  // of at most 64 bits
  big,      // a longer one: its bytes, little-endian, or its digits
  real,
  text,   // UTF-8
  bytes,  // also a str of Python 2
  list,   // items()
  tuple,
  dict,  // items(): key, value, key, value, ...
  set,
  global,      // a name of the list: text() is "module.name"
  object,      // what calling a global would build: object()
  persistent,  // a reference that the file's own format resolves: items() has its id
};

class PickleValue {
 public:
  PickleKind kind = PickleKind::none;
  std::int64_t number = 0;  // the integer, or where the value is kept in its Pickle
  bool is(PickleKind wanted) const { return kind == wanted; }
};

class Pickle {
 public:
  Pickle() = default;
  Pickle(Pickle&&) = default;  // not copied: texts are views of its own strings
  Pickle& operator=(Pickle&&) = default;

  struct Object {
    PickleValue name;       // a global
    PickleValue arguments;  // a tuple
    PickleValue state;      // what Python's BUILD would set; none without
  };

  // The first pickle in `bytes`, which must outlive the values: texts are views of them. Faults:
  // source_damaged; format_unsupported for names that are not on the list and for more than
  // `max_values`. `format` names the format in them; offsets count from the first of `bytes`.
  std::optional<Fault> read(Bytes bytes, const char* format,
                            std::size_t max_values = kMaxPickleValues);

  const PickleValue& root() const { return root_; }
  std::size_t end() const { return end_; }  // of the pickle in the bytes

  std::string_view text(const PickleValue& value) const;  // of text, bytes, big, global; else empty
  double real(const PickleValue& value) const;
  // Of a list, tuple, dict, set or persistent; empty of all others.
  const std::vector<PickleValue>& items(const PickleValue& value) const;
  const Object& object(const PickleValue& value) const;  // of an object
  // The name that an object calls: "torch._utils._rebuild_tensor_v2"; empty of all others.
  std::string_view calls(const PickleValue& value) const;
  // The value of a text key of a dict; nullptr when there is none.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
  // Where a text or bytes value lies in the bytes; empty when it had to be decoded.
  std::optional<std::size_t> place(const PickleValue& value) const;
  // Every persistent value, in the order of the bytes.
  const std::vector<PickleValue>& persistents() const { return persistents_; }

 private:
  friend class PickleMachine;
  PickleValue root_;
  std::size_t end_ = 0;
  Bytes bytes_;
  std::vector<std::string_view> texts_;
  std::deque<std::string> decoded_;  // what texts_ show that is not in the bytes
  std::vector<std::vector<PickleValue>> items_;
  std::vector<Object> objects_;
  std::vector<PickleValue> persistents_;
};

}  // namespace tundish
