// The formats that can be opened: one row each in formats.cpp. A data set is known by its bytes;
// its name decides only where the bytes cannot (a list is text, an image folder is a folder).
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

// What is known of a path before it is opened.
struct Probe {
  std::string path;
  bool is_folder = false;
  Bytes first;             // the file's first bytes, at most kProbeBytes; of a folder none
  std::uint64_t size = 0;  // of the file

  std::string_view text() const {
    return {reinterpret_cast<const char*>(first.data()), first.size()};
  }
  bool has(const char* name) const;  // of a folder: whether it holds a file or folder of this name
};
inline constexpr std::size_t kProbeBytes = 4096;

struct Format {
  const char* name;   // "tfrecord": for --format, and in messages
  const char* about;  // "TFRecord files": for people
  // Whether the path looks like this format. The first row that says yes opens it.
  bool (*recognize)(const Probe& probe);
  // Throws Error; options.format is empty or this format.
  std::shared_ptr<const Source> (*open)(const std::string& path, const SourceOptions& options);
  // Several files as one data set, which is called `path`; nullptr: not of this format.
  std::shared_ptr<const Source> (*open_files)(const std::string& path,
                                              const std::vector<std::string>& files,
                                              const SourceOptions& options) = nullptr;
};

// In the order in which they are asked.
std::span<const Format> formats();
const Format* find_format(const std::string& name);  // nullptr when there is none

// "csv, tar, folder, ...": for messages.
std::string format_names();

// A fault of a file of this format: source_damaged with a reason that names the format.
Fault damaged_source(const char* format, std::string reason, std::uint64_t offset);
Fault unsupported_source(const char* format, std::string reason, std::uint64_t offset = 0);

}  // namespace tundish
