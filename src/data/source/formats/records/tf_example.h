// tf.train.Example and tf.train.SequenceExample: named features of a record.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

enum class FeatureKind : std::uint8_t { empty, bytes, floats, integers };

const char* feature_kind_name(FeatureKind kind);  // "bytes_list", ...

// A feature, or a feature list of a SequenceExample (one feature per step). Views of the record.
struct TfFeature {
  std::string_view name;
  FeatureKind kind = FeatureKind::empty;
  bool is_sequence = false;
  bool ragged = false;       // for a sequence: numbers of values differ between steps
  std::uint64_t steps = 1;   // for a sequence: number of steps
  std::uint64_t values = 0;  // total over all steps
  Bytes message;             // Feature or FeatureList
  Bytes first;               // for bytes: the first value
  std::uint64_t offset = 0;  // offset in the record of `first`, or of the message
};

// Accepts any bytes. Among features with equal names the last counts, as in protocol buffers.
// Faults: source_damaged if the bytes are no such message; format_unsupported over kMaxFeatures.
std::optional<Fault> parse_tf_example(std::vector<TfFeature>& out, Bytes record);
inline constexpr std::size_t kMaxFeatures = 1024;

// A list of numbers has no shape. For an array NAME with several sides, the feature NAME/shape
// holds the sides. Written by tundish convert.
inline constexpr const char* kTfShapeEnding = "/shape";

// Returns the sides that a feature lists, if an array of `values` values can have them.
std::optional<std::vector<std::uint64_t>> read_tf_shape(const TfFeature& feature,
                                                        std::uint64_t values);

// Appends the values of a feature from parse_tf_example(): float32 or int64.
void append_values(std::vector<std::byte>& out, const TfFeature& feature);

}  // namespace tundish
