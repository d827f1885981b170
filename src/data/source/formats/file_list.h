// A .csv or .tsv list of image files. The first line names the columns:
//   path   (or file, filename, image; the first of these that exists) the image, relative to
//          the list's folder or absolute; it may lead out of that folder
//   path:offset, path:bytes  optional, both: the image is that part of the file
//   label  (or class) optional; all numbers are taken as they are, otherwise names are sorted
//   label:number  beside label: its whole numbers are the labels (-1 for none) and `label` names
//          their classes, taken as it is; an empty name says nothing. A row without a path names a
//          class that no file has. All of the classes 0, 1, ... up to the last have a name
//   label:NAME  instead: a label is a vector, and this is the number of class NAME; the classes are
//          numbered in the order of their columns (data/source/label_vector.h)
//   any other column becomes a field: number when every value is one that a double holds exactly
//          as it is written (data/source/number.h), text when all are UTF-8, otherwise bytes
//
// Keys are relative and clean: to the list's folder when every file is in it, otherwise to the
// folder that all files have in common. So a pack made from a list names no place of the machine
// above that. A file may be in several rows. The key of a part of a file is FILE/OFFSET.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/source/source.h"
#include "data/source/string_table.h"

namespace tundish {

constexpr std::uint64_t kMaxFileOffset = std::uint64_t{1} << 62;  // and bytes: their sum fits

constexpr const char* kNumberColumn = "label:number";

// A list as it is written, before any file is examined.
struct List {
  Schema schema;  // image, label or its vector when there is one, then the other columns
  StringTable paths;
  std::vector<std::uint64_t> offsets, sizes;  // of parts of files; empty: images are whole files
  std::vector<std::int64_t> labels;           // empty when there is no such column
  std::vector<float> label_vectors;  // of each row one number per class; empty when there are none
  std::vector<StringTable> columns;  // the last columns.size() fields of the schema
};

// Faults: csv_damaged, label_unreadable; the reason names line and column. interrupted.
std::optional<Fault> parse_list(List& out, std::string_view text, char separator);

// `folder`: absolute path of the list's folder; used when some path is absolute or leads out.
StringTable make_keys(const StringTable& paths, const std::string& folder);

// Reads the list and asks for the size of every file; a missing one is a bad sample when it is
// read. The separator is a tab when the name ends in .tsv, a comma otherwise. Throws Error.
std::shared_ptr<const Source> open_file_list(const std::string& path);

}  // namespace tundish
