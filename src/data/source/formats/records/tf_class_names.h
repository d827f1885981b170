// Names of classes out of TFRecord files: image/class/text beside image/class/label in every
// record, as TensorFlow's scripts for ImageNet write them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tundish {

inline constexpr std::string_view kTfLabel = "image/class/label";
inline constexpr std::string_view kTfClassText = "image/class/text";

class TfClassNames {
 public:
  // What one record says: a label from 0 on and its name, any bytes. Bounded: over kMaxNames
  // labels, or over kMaxTextBytes of names, none are kept.
  void add(std::int64_t label, std::string_view name);
  void add(const TfClassNames& others);

  // By label; a label without a name has its number as its name. Empty when there are no names;
  // `reason` then says why, or is empty when no record has one.
  std::vector<std::string> names(std::string& reason) const;

  // For the index beside the file; parse() takes any text.
  std::string text() const;
  static std::optional<TfClassNames> parse(std::string_view text);

  static constexpr std::int64_t kMaxNames = 1'000'000;
  static constexpr std::size_t kMaxTextBytes = 16 << 20;

 private:
  void refuse(std::string reason);

  std::map<std::int64_t, std::string> names_;
  std::size_t bytes_ = 0;
  std::string refused_;  // why there are none
};

}  // namespace tundish
