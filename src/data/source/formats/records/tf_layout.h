// Which feature of a tf.train.Example becomes which field. Decided from the first records of a
// file and from what the user asked for; then every record is read by it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/formats/records/tf_example.h"
#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

inline constexpr std::size_t kSampledRecords = 64;

// What the first records say about their features.
class TfSurvey {
 public:
  // Faults as parse_tf_example().
  std::optional<Fault> add(Bytes record);

 private:
  friend class TfLayout;
  struct Seen {
    FeatureKind kind = FeatureKind::empty;
    bool mixed = false;      // several kinds
    bool single = true;      // one value in every record
    bool several = false;    // more than one value in a record
    bool same_shape = true;  // the numbers of steps and values are those of the first
    bool ragged = false;
    bool is_sequence = false;
    bool utf8 = true;   // of bytes
    bool image = true;  // of bytes: each value looks like an image
    std::uint64_t steps = 0, values = 0;
    bool shaped = true;                // NAME/shape fits in every record that has values
    bool same_sides = true;            // and says the same in all of them
    std::vector<std::uint64_t> shape;  // what the first one says
    bool is_array() const;             // becomes an array unless it is the label
  };
  static void note_shape(Seen& seen, const TfFeature& feature, const std::vector<TfFeature>& all);
  static void note(Seen& seen, const TfFeature& feature);
  std::map<std::string, Seen> features_;
  std::vector<TfFeature> scratch_;
};

// Features that describe the image or name the sample, beside the image, as TensorFlow's scripts
// for ImageNet and tundish convert write them. Not all of them have to be there.
inline constexpr std::string_view kTfImage = "image/encoded";
inline constexpr std::string_view kTfFileName = "image/filename";

// What a record says beside its fields; parts of the record, or empty.
struct TfNames {
  std::string_view class_text;  // of the label's class
  std::string_view file_name;   // of the sample
};

class TfLayout {
 public:
  // `keep_descriptions`: features that only describe the image, its name and the name of its class
  // are fields as well. Faults: field_unclear.
  std::optional<Fault> decide(const TfSurvey& survey, const SourceOptions& options,
                              bool keep_descriptions = true);

  const Schema& schema() const { return schema_; }
  void set_classes(std::vector<std::string> names) { schema_.classes = std::move(names); }
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::string text() const;  // says all that reading depends on

  // The label, and the bytes of all fields as read() gives them. Any record; faults:
  // source_damaged, image_too_large, format_unsupported.
  std::optional<Fault> measure(std::int64_t& label, std::uint64_t& bytes, Bytes record,
                               TfNames* names = nullptr) const;

  // The fields that are asked for, and the label. Faults as measure().
  std::optional<Fault> read(Sample& out, std::int64_t& label, Bytes record, FieldSet fields) const;

 private:
  struct Part {
    std::string feature;
    FeatureKind kind;
    bool shaped = false;  // NAME/shape of the record says its shape
  };
  // Features that say nothing which the image, its key and its label do not say. Empty unless
  // the records are of the usual form.
  static std::set<std::string> find_descriptions(const TfSurvey& survey, const std::string& image,
                                                 const std::string& label);
  bool names_classes() const;  // image/class/text is the name of what the label is the number of
  void add_field(const std::string& feature, const TfSurvey::Seen& seen, int role);
  std::optional<Fault> measure(std::int64_t& label, std::uint64_t& bytes,
                               const std::vector<TfFeature>& features) const;
  // These add to `bytes`, and write to `out` unless it is null. The feature may be null; `features`
  // are all of the record.
  std::optional<Fault> convert(std::vector<std::byte>* out, std::uint64_t& bytes, std::size_t field,
                               const std::vector<TfFeature>& features) const;
  std::optional<Fault> convert_bytes(std::vector<std::byte>* out, std::uint64_t& bytes,
                                     std::size_t field, const TfFeature* feature) const;
  std::optional<Fault> convert_array(std::vector<std::byte>* out, std::uint64_t& bytes,
                                     std::size_t field, const TfFeature* feature,
                                     const std::vector<TfFeature>& features) const;

  Schema schema_;
  std::vector<Part> parts_;  // one per field
  std::vector<std::string> warnings_;
};

}  // namespace tundish
