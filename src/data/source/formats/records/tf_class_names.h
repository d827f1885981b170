// Class names from TFRecord files: image/class/text beside image/class/label in every
// record, as written by TensorFlow's scripts for ImageNet.
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
  // Adds the label (from 0 on) and name of one record; the name may be any bytes. Drops all names
  // if there are over kMaxNames labels, or over kMaxTextBytes of names.
  void add(std::int64_t label, std::string_view name);
  void add(const TfClassNames& others);

  // Returns names by label; a label without a name is named by its number. Returns empty without
  // names: `reason` is then the reason, or empty if no record has a name.
  std::vector<std::string> names(std::string& reason) const;

  // Serialization for the index beside the file; parse() accepts any text.
  std::string text() const;
  static std::optional<TfClassNames> parse(std::string_view text);

  static constexpr std::int64_t kMaxNames = 1'000'000;
  static constexpr std::size_t kMaxTextBytes = 16 << 20;

 private:
  void refuse(std::string reason);

  std::map<std::int64_t, std::string> names_;
  std::size_t bytes_ = 0;
  std::string refused_;  // reason why there are none
};

}  // namespace tundish
