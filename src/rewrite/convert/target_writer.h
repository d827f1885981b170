// What writes one format: samples in the order of the source, then the end. One file pair per
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

// What was written, and what could not be.
struct ConvertReport {
  std::uint64_t samples = 0;               // that the target holds
  std::uint64_t files = 0, bytes = 0;      // files that were written, and all their bytes
  std::uint64_t unchanged = 0;             // files of a folder that had the same bytes
  std::string list = {};                   // name of a folder's list, or empty
  std::vector<std::string> left_out = {};  // fields that the target cannot hold, and why
  std::vector<std::string> warnings = {};  // what else differs from the source
  std::vector<Error> refused = {};         // samples that are not in the target
};

// What a writer is made for. Source and report outlive the writer.
struct Conversion {
  const Source& source;
  std::string target;
  bool replace = false;      // files that exist
  std::uint64_t shards = 1;  // files to divide the samples between
  ConvertReport& report;
};

// One sample as the source gave it: encoded images with the bytes they had before they were packed.
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
  virtual ~TargetWriter() = default;  // without finish() nothing has the target's name

  // Throws SampleError when only this sample cannot be written: the target is then as before.
  // Throws Error for everything else.
  virtual void add(const ConvertSample& sample) = 0;

  // Makes the target durable and visible, and completes the report.
  virtual void finish() = 0;
};

struct TargetFormat {
  const char* name;   // of --to: "tar"
  const char* about;  // "a .tar archive as WebDataset reads it"
  bool shards;        // whether several files are possible
  bool may_be_empty;  // whether a target without samples has a sense
  std::unique_ptr<TargetWriter> (*make)(const Conversion& conversion);  // throws Error
};

}  // namespace tundish
