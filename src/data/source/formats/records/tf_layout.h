// Assigns the features of a tf.train.Example to fields. Decided from the first records of a file
// and the user's options, then used for every record.
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

// Collects facts about features from the first records.
class TfSurvey {
 public:
  // Faults: see parse_tf_example().
  std::optional<Fault> add(Bytes record);

 private:
  friend class TfLayout;
  struct Seen {
    FeatureKind kind = FeatureKind::empty;
    bool mixed = false;      // several kinds
    bool single = true;      // one value in every record
    bool several = false;    // more than one value in a record
    bool same_shape = true;  // steps and values are as many as in the first record
    bool ragged = false;
    bool is_sequence = false;
    bool utf8 = true;   // for bytes
    bool image = true;  // for bytes: each value looks like an image
    std::uint64_t steps = 0, values = 0;
    bool shaped = true;                // NAME/shape fits in every record with values
    bool same_sides = true;            // NAME/shape is equal in all records
    std::vector<std::uint64_t> shape;  // shape in the first record
    bool is_array() const;             // becomes an array unless it is the label
  };
  static void note_shape(Seen& seen, const TfFeature& feature, const std::vector<TfFeature>& all);
  static void note(Seen& seen, const TfFeature& feature);
  std::map<std::string, Seen> features_;
  std::vector<TfFeature> scratch_;
};

// Features that describe the image or name the sample, as written by TensorFlow's scripts for
// ImageNet and by tundish convert. Each is optional.
inline constexpr std::string_view kTfImage = "image/encoded";
inline constexpr std::string_view kTfFileName = "image/filename";

// Information of a record besides its fields; views of the record, or empty.
struct TfNames {
  std::string_view class_text;  // name of the label's class
  std::string_view file_name;   // name of the sample
};

class TfLayout {
 public:
  // `keep_descriptions`: keep features as fields even if they only describe the image, its name or
  // the name of its class. Faults: field_unclear.
  std::optional<Fault> decide(const TfSurvey& survey, const SourceOptions& options,
                              bool keep_descriptions = true);

  const Schema& schema() const { return schema_; }
  void set_classes(std::vector<std::string> names) { schema_.classes = std::move(names); }
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::string text() const;  // covers everything that reading depends on

  // Gets the label, and the bytes of all fields as returned by read(). Accepts any record. Faults:
  // source_damaged, image_too_large, format_unsupported.
  std::optional<Fault> measure(std::int64_t& label, std::uint64_t& bytes, Bytes record,
                               TfNames* names = nullptr) const;

  // Reads the requested fields and the label. Faults: see measure().
  std::optional<Fault> read(Sample& out, std::int64_t& label, Bytes record, FieldSet fields) const;

 private:
  struct Part {
    std::string feature;
    FeatureKind kind;
    bool shaped = false;  // the record's NAME/shape has its shape
  };
  // Returns features that add no information to the image, its key and its label. Empty unless the
  // records have the usual form.
  static std::set<std::string> find_descriptions(const TfSurvey& survey, const std::string& image,
                                                 const std::string& label);
  bool names_classes() const;  // true if image/class/text names the class in the label
  void add_field(const std::string& feature, const TfSurvey::Seen& seen, int role);
  std::optional<Fault> measure(std::int64_t& label, std::uint64_t& bytes,
                               const std::vector<TfFeature>& features) const;
  // These functions add to `bytes`, and write to `out` unless it is null. `feature` may be null;
  // `features` are all features of the record.
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
