// Converts a sample to files for a folder or an archive: the image under the sample's name, other
// fields beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewrite/convert/target_writer.h"

namespace tundish {

struct SampleFile {
  std::string name;
  Bytes content;  // a view of the sample, or of the SampleFiles
};

// File names: as in the source, or WebDataset's, where the text after the first dot is the kind.
enum class FileNames : std::uint8_t { of_source, of_archive };

// Returns true if a field is a column of a list (rewrite/convert/list_csv.h), if there is one.
bool is_list_column(const Schema& schema, const Field& field);

class SampleFiles {
 public:
  SampleFiles(const Schema& schema, FileNames names);

  // Returns the image first, then other fields that are not empty. of_source omits labels and
  // columns; of_archive includes all, with the label as "NAME.cls". `stem`, only for of_archive, is
  // the name up to its first dot; empty: the stem of the key. Valid until the next call. Throws
  // SampleError if a field's elements do not match the schema. Names are distinct: a field whose
  // file would have the name of the image, the label or an earlier field gets a "_".
  const std::vector<SampleFile>& of(const ConvertSample& sample, const std::string& stem = {});

  // Returns the name of the image, or of the sample if it has no image.
  const std::string& main_name() const { return main_name_; }

 private:
  std::string image_name(const ConvertSample& sample, Bytes image) const;
  std::string other_name(const Field& field, const std::string& key) const;
  bool is_taken(const std::string& name, const std::string& stem) const;
  void add_image(const ConvertSample& sample, const std::string& stem);
  void add_other(const ConvertSample& sample, std::size_t field, const std::string& stem);
  void add_owned(std::string name, std::vector<std::byte> content);

  const Schema& schema_;
  const FileNames names_;
  const int image_;
  std::vector<SampleFile> files_;
  std::vector<std::vector<std::byte>> owned_;
  std::string main_name_;
};

// Splits "a/cat.0.jpg" into "a/cat.0", without an image ending, and the ending "jpg", if any.
struct NameParts {
  std::string stem;
  std::string ending;
};
NameParts split_image_name(const std::string& name);

}  // namespace tundish
