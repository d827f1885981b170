// Decodes Python pickles, protocols 0 to 5, to values. Never executes code: a pickle may only use
// the names on a list (pickle_names.h), and the objects that they would build are kept as data.
// Any bytes yield values or a fault, in memory within the limits below. Values may contain
// themselves: code that walks through values needs a depth limit.
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
  integer,  // an integer of at most 64 bits
  big,      // more than 64 bits: bytes, little-endian, or digits
  real,
  text,   // UTF-8
  bytes,  // also a str of Python 2
  list,   // items()
  tuple,
  dict,  // items(): key, value, key, value, ...
  set,
  global,      // a name on the list: text() is "module.name"
  object,      // the result that calling a global would have: object()
  persistent,  // a reference resolved by the file's format: items() has its id
};

class PickleValue {
 public:
  PickleKind kind = PickleKind::none;
  std::int64_t number = 0;  // the integer, or the index of the value in its Pickle
  bool is(PickleKind wanted) const { return kind == wanted; }
};

class Pickle {
 public:
  Pickle() = default;
  Pickle(Pickle&&) = default;  // not copied: texts view its own strings
  Pickle& operator=(Pickle&&) = default;

  struct Object {
    PickleValue name;       // a global
    PickleValue arguments;  // a tuple
    PickleValue state;      // argument of Python's BUILD; none if absent
  };

  // Reads the first pickle in `bytes`, which must outlive the values: texts are views. Faults:
  // source_damaged; format_unsupported for names that are not on the list and for more than
  // `max_values`. `format` names the format in faults; offsets count from the start of `bytes`.
  std::optional<Fault> read(Bytes bytes, const char* format,
                            std::size_t max_values = kMaxPickleValues);

  const PickleValue& root() const { return root_; }
  std::size_t end() const { return end_; }  // end of the pickle in the bytes

  std::string_view text(const PickleValue& value) const;  // for text, bytes, big, global; or empty
  double real(const PickleValue& value) const;
  // Returns the items of a list, tuple, dict, set or persistent; empty for others.
  const std::vector<PickleValue>& items(const PickleValue& value) const;
  const Object& object(const PickleValue& value) const;  // requires an object
  // Returns the name that an object calls: "torch._utils._rebuild_tensor_v2"; empty for others.
  std::string_view calls(const PickleValue& value) const;
  // Returns the value of a text key of a dict; nullptr if missing.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
  // Returns the offset of a text or bytes value in the bytes; empty if it had to be decoded.
  std::optional<std::size_t> place(const PickleValue& value) const;
  // Returns every persistent value, in byte order.
  const std::vector<PickleValue>& persistents() const { return persistents_; }

 private:
  friend class PickleMachine;
  PickleValue root_;
  std::size_t end_ = 0;
  Bytes bytes_;
  std::vector<std::string_view> texts_;
  std::deque<std::string> decoded_;  // texts that are not in the bytes
  std::vector<std::vector<PickleValue>> items_;
  std::vector<Object> objects_;
  std::vector<PickleValue> persistents_;
};

}  // namespace tundish
