// A labeled folder of synthetic photos, for the demo and for tests: FOLDER/CLASS/NNNN.jpg.
// Class sizes differ by at most one, and the classes are easy to learn.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace tundish {

struct SampleSetOptions {
  int count = 1000;        // images
  int classes = 10;        // 1 to kMaxSampleClasses
  std::uint64_t seed = 1;  // the same seed produces the same bytes for any number of threads
  int threads = 0;         // 0: all CPUs that the process may use
  std::function<void(int done)> progress = {};  // called occasionally, from the calling thread
  const std::atomic<bool>* stop = nullptr;      // once true: throws Error(interrupted)
};

// Creates missing folders and replaces files of the same name. Returns the number of bytes written.
// Throws Error(argument, disk_full, no_permission, io_write, interrupted).
std::uint64_t make_sample_set(const std::string& folder, const SampleSetOptions& options = {});

}  // namespace tundish
