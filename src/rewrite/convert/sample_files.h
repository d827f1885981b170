// A sample as files: the image under the sample's name, other fields beside it. What a folder and
// an archive hold.
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

// Names of files: as in the source; or WebDataset's, where what follows the first dot is the kind.
enum class FileNames : std::uint8_t { of_source, of_archive };

// Whether a field is a column of a list (rewrite/convert/list_csv.h) where there is one.
bool is_list_column(const Schema& schema, const Field& field);

class SampleFiles {
 public:
  SampleFiles(const Schema& schema, FileNames names);

  // The image first. Of other fields those that are not empty; of_source: without labels and
  // columns; of_archive: all, the label as "NAME.cls". `stem` is only for of_archive: the name up
  // to its first dot; empty: the one of the key. Valid until the next call. Throws SampleError
  // when a field has not the elements that the schema promises. No two files have one name: a field
  // whose file would have the name of the image, of the label or of an earlier field gets a "_".
  const std::vector<SampleFile>& of(const ConvertSample& sample, const std::string& stem = {});

  // The name of the image; of the sample where it has none.
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

// "a/cat.0" of "a/cat.0.jpg": without the ending of an image; the ending, "jpg", may be empty.
struct NameParts {
  std::string stem;
  std::string ending;
};
NameParts split_image_name(const std::string& name);

}  // namespace tundish
