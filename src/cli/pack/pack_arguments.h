// The words after `tundish pack`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/pack/choice_arguments.h"
#include "cli/pack/preprocess_arguments.h"
#include "cli/source_words.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

struct PackArguments {
  std::vector<std::string> from;  // one source, or with `manifest` the shards
  std::string target;             // of -o; the manifest's name with `manifest`
  bool manifest = false;          // only write a manifest
  bool no_resume = false;
  std::uint64_t shard_bytes = 0;  // 0: one file
  SourcePart shard = {};
  double checkpoint = 5;  // seconds
  SourceWords about;
  Choice choice;
  PreprocessArguments preprocess;
  bool force = false, skip_bad = false, dry_run = false, strip = false;
  std::uint64_t threads = 0;
  double max_growth = 1.10;
  std::string codec = "lanes", tables = "auto", progress = "auto";
};

// False when only help was asked for. Throws UsageError.
bool parse(PackArguments& out, const Words& words, Shell& shell);

// The file that will appear: the pack, one shard of several, or the manifest.
std::string output_of(const PackArguments& arguments);

// Without progress and stop.
PackOptions pack_options(const PackArguments& arguments);

}  // namespace tundish::cli
