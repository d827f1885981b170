// What the opaque pointers of include/tundish.h point to.
#pragma once

#include <memory>
#include <string>

#include "batch/engine.h"
#include "source/source.h"
#include "tundish.h"

struct tundish_source {
  std::shared_ptr<const tundish::Source> source;  // second owner: loaders made from it
  std::string about;
};

struct tundish_loader {
  std::unique_ptr<tundish::Engine> engine;
  std::string path;
  std::string fingerprint;
  std::string order;
  std::string recipe;
};

struct tundish_batch {
  std::shared_ptr<tundish::Batch> batch;  // second owner: each tensor made from it
};
