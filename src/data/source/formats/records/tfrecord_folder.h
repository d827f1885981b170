// Finds the TFRecord files of one dataset in a folder.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tundish {

struct TfRecordFolder {
  std::vector<std::string> names;  // sorted; without files that have no record
  std::vector<std::string> warnings;
};

// Detects a TFRecord file by its first bytes, compressed or not; false if it cannot be read.
bool is_tfrecord_file(const std::string& path);

// True if all files are TFRecord files, except hidden files and notes (.json, .txt, .md, .pbtxt).
bool is_tfrecord_folder(const std::string& path);

// Returns warnings about sets with missing files, judged by names: "train-00001-of-00003". `path`:
// path given by the user.
std::vector<std::string> warnings_of_missing(const std::string& path,
                                             std::span<const std::string> files);

// Throws Error (format_unsupported) if a pattern takes files of one set with two counts, such as
// "train-00000-of-00002" and "train-00000-of-00004": the same samples, written twice.
void refuse_several_counts(const std::string& path, std::span<const std::string> files);

// Throws Error: format_unsupported if the files belong to several sets (train and test).
TfRecordFolder list_tfrecords(const std::string& path);

}  // namespace tundish
