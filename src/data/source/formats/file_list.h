// A .csv or .tsv list of image files. The first line names the columns:
//   path   (or file, filename, image; the first of these that exists) the image, relative to
//          the list's folder or absolute; it may lead out of that folder
//   path:offset, path:bytes  optional, both: the image is that part of the file
//   label  (or class) optional; if all are numbers, they are used unchanged, else names are sorted
//   label:number  beside label: its whole numbers are the labels (-1 for none), and `label` names
//          their classes unchanged; an empty name is ignored. A row without a path names a class
//          without files. All classes 0, 1, ... up to the last need a name
//   label:NAME  instead: a label is a vector, and this is the number of class NAME; classes are
//          numbered in the order of their columns (data/source/label_vector.h)
//   any other column becomes a field: number if a double holds every value exactly as it is
//          written (data/source/number.h), text if all are UTF-8, otherwise bytes
//
// Keys are relative and clean. They are relative to the list's folder if every file is inside,
// otherwise to the deepest common folder of all files. So a pack made from a list does not reveal
// folders above that. A file may be in several rows. The key of a part of a file is FILE/OFFSET.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/source/source.h"
#include "data/source/source_options.h"
#include "data/source/string_table.h"

namespace tundish {

constexpr std::uint64_t kMaxFileOffset = std::uint64_t{1} << 62;  // and bytes: their sum fits

constexpr const char* kNumberColumn = "label:number";

// A parsed list, before any file is examined.
struct List {
  Schema schema;  // image, label or label vector if present, then the other columns
  StringTable paths;
  std::vector<std::uint64_t> offsets, sizes;  // parts of files; empty: images are whole files
  std::vector<std::int64_t> labels;           // empty without a label column
  std::string label_warning;                  // empty: all labels are as expected
  std::vector<float> label_vectors;  // per row one number per class; empty if there are none
  std::vector<StringTable> columns;  // the last columns.size() fields of the schema
};

// Faults: csv_damaged, label_unreadable, whose reason names line and column; interrupted.
// field_unclear, for a column that `options` name and that is missing.
std::optional<Fault> parse_list(List& out, std::string_view text, char separator,
                                const SourceOptions& options = {});

// `folder`: absolute path of the list's folder; used if a path is absolute or leaves the folder.
StringTable make_keys(const StringTable& paths, const std::string& folder);

// Reads the list and gets the size of every file. A missing file becomes a bad sample when it is
// read. The separator is a tab if the name ends in .tsv, else a comma. Throws Error.
// options.image and options.label name columns in place of the usual ones.
std::shared_ptr<const Source> open_file_list(const std::string& path, const SourceOptions& options);

}  // namespace tundish
