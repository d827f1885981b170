// A labeled folder of made-up photos, for the demo and for tests: FOLDER/CLASS/NNNN.jpg.
// The classes are as large as each other, give or take one, and easy to learn.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace tundish {

struct SampleSetOptions {
  int count = 1000;        // images
  int classes = 10;        // 1 to kMaxSampleClasses
  std::uint64_t seed = 1;  // the same seed gives the same bytes, with any number of threads
  int threads = 0;         // 0: as many as the process may use
  std::function<void(int done)> progress = {};  // now and then, from the calling thread
  const std::atomic<bool>* stop = nullptr;      // set: Error(interrupted)
};

// Makes the folders where they are missing and replaces files of the same name. Gives the bytes
// written. Throws Error(argument), Error(disk_full, no_permission, io_write, interrupted).
std::uint64_t make_sample_set(const std::string& folder, const SampleSetOptions& options = {});

}  // namespace tundish
