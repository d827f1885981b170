// Which files of a folder are the TFRecord files of one data set.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tundish {

struct TfRecordFolder {
  std::vector<std::string> names;  // sorted; files without a record are left out
  std::vector<std::string> warnings;
};

// Whether a file is one, by its first bytes, compressed or not; false when it cannot be read.
bool is_tfrecord_file(const std::string& path);

// Whether all files are TFRecord files, beside hidden files and notes (.json, .txt, .md, .pbtxt).
bool is_tfrecord_folder(const std::string& path);

// Sets of which the names say that there are more files: "train-00001-of-00003". `path`: what the
// user gave.
std::vector<std::string> warnings_of_missing(const std::string& path,
                                             std::span<const std::string> files);

// Throws Error: format_unsupported when the files are of several sets (train and test).
TfRecordFolder list_tfrecords(const std::string& path);

}  // namespace tundish
