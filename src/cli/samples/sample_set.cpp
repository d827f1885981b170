#include "cli/samples/sample_set.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/machine/usable_cpus.h"
#include "cli/samples/sample_image.h"

namespace tundish {
namespace {

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw Error(code_of_errno(error.value(), true), {.file = path}, error.message());
}

void write_file(const std::string& path, Bytes bytes) {
  File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), path);
  if (!file.is_open()) throw_errno(path, "create", true);
  file.write_at(bytes, 0);
}

// State shared by the threads.
struct Work {
  const std::string& folder;
  const SampleSetOptions& options;
  std::atomic<int> next = 0;
  std::atomic<int> done = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<int> running = 0;
  std::mutex mutex;  // guards failure
  std::exception_ptr failure = nullptr;

  Work(const std::string& to, const SampleSetOptions& how) : folder(to), options(how) {}

  bool is_stopped() const { return options.stop != nullptr && options.stop->load(); }
};

void make_images(Work& work) {
  try {
    const SampleSetOptions& options = work.options;
    for (int i; (i = work.next.fetch_add(1)) < options.count && !work.is_stopped();) {
      const int label = i % options.classes;
      const std::vector<std::byte> image =
          make_sample_image(label, options.seed, static_cast<std::uint64_t>(i));
      write_file(fmt::format("{}/{}/{:04}.jpg", work.folder, sample_class_name(label),
                             i / options.classes),
                 image);
      work.bytes += image.size();
      ++work.done;
    }
  } catch (...) {
    const std::lock_guard lock(work.mutex);
    work.failure = std::current_exception();
    work.next = work.options.count;  // other threads stop after their current image
  }
  --work.running;
}

}  // namespace

std::uint64_t make_sample_set(const std::string& folder, const SampleSetOptions& options) {
  if (options.classes < 1 || options.classes > kMaxSampleClasses ||
      options.count < options.classes || options.threads < 0) {
    throw Error(ErrorCode::argument, {},
                fmt::format("a sample set has 1 to {} classes and at least one image of each; "
                            "asked for {} images in {} classes",
                            kMaxSampleClasses, options.count, options.classes));
  }
  for (int label = 0; label < options.classes; ++label) {
    make_folder(folder + "/" + sample_class_name(label));
  }
  Work work(folder, options);
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(usable_cpus());
  work.running = threads;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back([&work] { make_images(work); });
    while (work.running > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (options.progress) options.progress(work.done);
    }
  }
  if (work.failure) std::rethrow_exception(work.failure);
  if (work.is_stopped())
    throw Error(ErrorCode::interrupted, {.file = folder}, "stopped by request");
  return work.bytes;
}

}  // namespace tundish
