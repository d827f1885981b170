// The supported formats, one row each in formats.cpp. A dataset is recognized by its bytes; its
// name decides only where bytes cannot (a list is text, an image folder is a folder).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

// Facts about a path before it is opened.
struct Probe {
  std::string path;
  bool is_folder = false;
  Bytes first;             // the file's first bytes, at most kProbeBytes; empty for a folder
  std::uint64_t size = 0;  // size of the file

  std::string_view text() const {
    return {reinterpret_cast<const char*>(first.data()), first.size()};
  }
  bool has(const char* name) const;  // true if the folder has an entry of this name
};
inline constexpr std::size_t kProbeBytes = 4096;

// The options of SourceOptions that a format uses, besides `format`.
enum class FormatChoices : std::uint8_t { none, names, names_and_axis };

struct Format {
  const char* name;   // "tfrecord": for --format and messages
  const char* about;  // "TFRecord files": for people
  // Returns true if the path looks like this format. The first matching row opens the path.
  bool (*recognize)(const Probe& probe);
  // Throws Error; options.format is empty or this format.
  std::shared_ptr<const Source> (*open)(const std::string& path, const SourceOptions& options);
  // Opens several files as one dataset named `path`; nullptr: not supported.
  std::shared_ptr<const Source> (*open_files)(const std::string& path,
                                              const std::vector<std::string>& files,
                                              const SourceOptions& options) = nullptr;
  FormatChoices choices = FormatChoices::names_and_axis;  // other options are refused
};

// Throws Error(argument) for an option that a dataset of this kind would ignore.
// `about`: "a pack", for people.
void refuse_ignored(const std::string& path, const char* about, FormatChoices choices,
                    const SourceOptions& options);

// Returns the formats in the order in which they are tried.
std::span<const Format> formats();
const Format* find_format(const std::string& name);  // nullptr when there is none

// Returns "csv, tar, folder, ...", for messages.
std::string format_names();

// Makes a fault for a file of this format: source_damaged with a reason that names the format.
Fault damaged_source(const char* format, std::string reason, std::uint64_t offset);
Fault unsupported_source(const char* format, std::string reason, std::uint64_t offset = 0);

}  // namespace tundish
