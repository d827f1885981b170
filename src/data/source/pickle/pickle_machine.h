// The stack machine that runs a pickle. It builds values and calls nothing.
#pragma once

#include <unordered_map>

#include "data/source/pickle/pickle.h"

namespace tundish {

class PickleMachine {
 public:
  PickleMachine(Pickle& out, Bytes in, const char* format, std::size_t max_values)
      : out_(out), in_(in), format_(format), max_values_(max_values) {}

  std::optional<Fault> run();

 private:
  // Success of a step; empty: the opcode is in another group.
  using Step = std::optional<bool>;
  Step numbers(char code);
  Step texts(char code);
  Step containers(char code);
  Step additions(char code);
  Step memory(char code);
  Step calls(char code);

  // Input. On false or empty, a fault is set.
  bool need(std::size_t bytes);
  std::optional<std::string_view> line();
  std::optional<std::uint64_t> length(std::size_t bytes);      // little-endian
  std::optional<std::string_view> counted(std::size_t bytes);  // a length of so many bytes, a text

  // Values.
  bool push(PickleValue value);
  bool push_integer(std::int64_t value);
  bool push_long(std::string_view bytes);
  bool push_decimal(std::string_view digits);
  bool push_view(PickleKind kind, std::string_view text);
  bool push_decoded(PickleKind kind, std::optional<std::string> text);
  bool push_items(PickleKind kind, std::vector<PickleValue> items);
  bool push_global(const std::string& name);
  PickleValue make_items(PickleKind kind, std::vector<PickleValue> items);
  std::optional<PickleValue> pop();
  std::optional<std::vector<PickleValue>> pop_to_mark();
  bool pack(std::size_t count);  // packs the last values into a tuple
  // Adds to the container on top of the stack: `pairs` to a dict, otherwise to a list or set.
  bool add(std::vector<PickleValue> values, bool pairs);
  bool encode(const PickleValue& text, const std::vector<PickleValue>& arguments);
  bool reduce();
  bool build();
  std::optional<bool> reduce_container(std::string_view name, const PickleValue& arguments);

  bool damaged(const char* reason);
  bool refused(std::string reason);

  Pickle& out_;
  Bytes in_;
  const char* format_;
  std::size_t max_values_;
  std::size_t at_ = 0;
  std::size_t step_at_ = 0;  // offset of the current opcode
  std::size_t values_ = 0;   // number made so far
  std::size_t decoded_bytes_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;  // stack sizes
  std::unordered_map<std::uint64_t, PickleValue> memo_;
  std::optional<Fault> fault_;
};

}  // namespace tundish
