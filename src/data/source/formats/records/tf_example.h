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
  bool ragged = false;       // of a sequence: steps differ in their numbers of values
  std::uint64_t steps = 1;   // of a sequence: how many
  std::uint64_t values = 0;  // of all steps together
  Bytes message;             // Feature or FeatureList
  Bytes first;               // of bytes: the first value
  std::uint64_t offset = 0;  // of `first`, or of the message, in the record
};

// Any bytes. Of two features of one name the last counts, as protocol buffers have it. Faults:
// source_damaged, when the bytes are no such message; format_unsupported over kMaxFeatures.
std::optional<Fault> parse_tf_example(std::vector<TfFeature>& out, Bytes record);
inline constexpr std::size_t kMaxFeatures = 1024;

// A list of numbers has no shape: the feature NAME/shape holds the sides of the array NAME, where
// it has several. tundish convert writes it.
inline constexpr const char* kTfShapeEnding = "/shape";

// The sides that a feature lists, when an array of `values` values has them. Any feature.
std::optional<std::vector<std::uint64_t>> read_tf_shape(const TfFeature& feature,
                                                        std::uint64_t values);

// Appends the values of a feature that parse_tf_example() gave: float32 or int64.
void append_values(std::vector<std::byte>& out, const TfFeature& feature);

}  // namespace tundish
