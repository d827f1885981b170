// Writes tf.train.Example: named lists of bytes, floats or whole numbers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/array_type.h"
#include "base/bytes.h"

namespace tundish {

class Example {
 public:
  void clear() { features_.clear(); }
  void add_bytes(const std::string& name, std::string_view value);
  void add_integers(const std::string& name, std::span<const std::int64_t> values);
  void add_integer(const std::string& name, std::int64_t value) { add_integers(name, {&value, 1}); }

  // Stores values exactly: floats of up to 32 bits as float_list, whole numbers of up to 63 bits
  // and booleans as int64_list, other types (float64, uint64) as their bytes, for
  // tf.io.decode_raw. An array with several sides also stores its shape in NAME/shape. So does an
  // array whose shape varies: a reader must distinguish one value from an array of length 1.
  void add_array(const std::string& name, const ArrayType& type, Bytes elements, bool varies);

  // Returns the message. Features are sorted by name, so that the bytes are deterministic.
  std::string serialize() const;

 private:
  void add_floats(const std::string& name, const ArrayType& type, Bytes elements);

  std::map<std::string, std::string> features_;  // name to Feature message
};

// The parts of a TFRecord record around the message: length and checksums.
std::string tfrecord_head(std::uint64_t bytes);
std::string tfrecord_tail(std::string_view message);

}  // namespace tundish
