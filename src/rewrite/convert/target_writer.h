// Interface of a writer of one format: takes samples in source order, then the end. One source per
// format in formats/; target_formats.cpp lists them. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "data/source/source.h"

namespace tundish {

// Written samples and files, and everything that could not be written.
struct ConvertReport {
  std::uint64_t samples = 0;               // samples in the target
  std::uint64_t files = 0, bytes = 0;      // number and size of written files
  std::uint64_t unchanged = 0;             // files of a folder that already had the same bytes
  std::string list = {};                   // name of a folder's list, or empty
  std::vector<std::string> left_out = {};  // fields that the target cannot hold, with the reason
  std::vector<std::string> warnings = {};  // other differences from the source
  std::vector<Error> refused = {};         // samples that are not in the target
};

// The input of a writer. Source and report must outlive the writer.
struct Conversion {
  const Source& source;
  std::string target;
  bool replace = false;       // replace existing files
  std::uint64_t shards = 1;   // number of files that divide the samples
  bool class_folders = true;  // a folder has CLASS/NAME if every sample has a named class
  ConvertReport& report;
};

// One sample from the source: encoded images have the bytes from before they were packed.
struct ConvertSample {
  std::uint64_t number = 0;
  std::string key = {};
  SampleInfo info = {};
  const Sample& data;

  Bytes field(std::size_t f) const { return data.fields.at(f); }
  Where where() const { return {.record = number, .key = key}; }
};

class TargetWriter {
 public:
  virtual ~TargetWriter() = default;  // without finish(), no file has the target's name

  // Throws SampleError if only this sample cannot be written: the target is then unchanged.
  // Throws Error for all other faults.
  virtual void add(const ConvertSample& sample) = 0;

  // Makes the target durable and visible, and completes the report.
  virtual void finish() = 0;
};

struct TargetFormat {
  const char* name;   // value of --to: "tar"
  const char* about;  // "a .tar archive as WebDataset reads it"
  bool shards;        // true if several files are possible
  bool may_be_empty;  // true if a target without samples is useful
  std::unique_ptr<TargetWriter> (*make)(const Conversion& conversion);  // throws Error
};

}  // namespace tundish
