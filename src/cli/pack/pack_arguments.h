// The arguments of `tundish pack`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/pack/choice_arguments.h"
#include "cli/pack/preprocess_arguments.h"
#include "cli/source_arguments.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

struct PackArguments {
  std::vector<std::string> from;  // one source, or the shards if `manifest` is set
  std::string target;             // value of -o, or the manifest's name if `manifest` is set
  bool manifest = false;          // only write a manifest
  bool no_resume = false;
  std::uint64_t shard_bytes = 0;  // 0: one file
  SourcePart shard = {};
  double checkpoint = 5;  // seconds between checkpoints
  SourceArguments about;
  Choice choice;
  PreprocessArguments preprocess;
  bool force = false, skip_bad = false, dry_run = false, strip = false;
  std::uint64_t threads = 0;
  double max_growth = 1.10;
  std::string codec = "lanes", tables = "auto", progress = "auto";
};

// Returns false if only help was requested. Throws UsageError.
bool parse(PackArguments& out, const Args& args, Shell& shell);

// Returns the file that will be created: the pack, one of several shards, or the manifest.
std::string output_of(const PackArguments& arguments);

// Returns the options of pack(), except progress and stop.
PackOptions pack_options(const PackArguments& arguments);

}  // namespace tundish::cli
