#include "base/machine/storage/read_rate.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/random.h"

namespace tundish {
namespace {

constexpr std::uint64_t kSector = 4096;
constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxRecord = std::uint64_t{64} << 20;

std::uint64_t rounded_up(std::uint64_t bytes) { return (bytes + kSector - 1) / kSector * kSector; }

// A file read past the page cache or, if O_DIRECT is refused, after its pages were dropped.
class DiskFile {
 public:
  explicit DiskFile(const std::string& path) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
    direct_ = descriptor_ >= 0;
    if (!direct_) descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  }
  ~DiskFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;

  bool direct() const { return direct_; }

  // Returns the number of bytes read; -1 with errno on failure.
  ssize_t read(std::byte* out, std::uint64_t offset, std::uint64_t length) {
    if (descriptor_ < 0) return -1;
    if (direct_) {
      const ssize_t count =
          ::pread(descriptor_, out, rounded_up(length), static_cast<off_t>(offset));
      if (count >= 0 || errno != EINVAL) return count;
      direct_ = false;
      ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_DIRECT);
    }
    ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(length),
                    POSIX_FADV_DONTNEED);
    return ::pread(descriptor_, out, length, static_cast<off_t>(offset));
  }

 private:
  int descriptor_ = -1;
  bool direct_ = false;
};

struct Freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Block = std::unique_ptr<std::byte, Freed>;

Block take_block(std::uint64_t bytes) {
  return Block(static_cast<std::byte*>(std::aligned_alloc(kSector, rounded_up(bytes))));
}

// State shared by all threads of one measurement.
struct Measurement {
  Measurement(const DataFiles& data_in, std::uint64_t record, std::uint64_t seed_in,
              const ReadLimits& limits_in)
      : data(data_in), record_bytes(record), seed(seed_in), limits(limits_in) {}

  const DataFiles& data;
  std::uint64_t record_bytes, seed;
  ReadLimits limits;
  std::uint64_t end_ns = 0;
  std::atomic<std::uint64_t> next{0}, reads{0}, bytes{0};
  std::atomic<bool> past_cache{true};
  std::atomic<int> fault{0};  // errno

  bool goes_on() const { return fault == 0 && bytes < limits.bytes && now_ns() < end_ns; }
};

void read_records(Measurement& all) {
  std::uint64_t largest = std::min(all.record_bytes, kMaxRecord);
  if (all.record_bytes == 0) {
    for (const DataFile& file : all.data.files) largest = std::max(largest, file.bytes);
    largest = std::min(largest, kMaxRecord);
  }
  const Block block = take_block(largest);
  if (!block) {
    all.fault = ENOMEM;
    return;
  }
  std::unique_ptr<DiskFile> file;
  std::size_t open_file = all.data.files.size();
  while (all.goes_on()) {
    const ReadPlace place = random_place(all.data, all.record_bytes, all.seed, all.next++);
    if (all.record_bytes == 0 || place.file != open_file) {
      file = std::make_unique<DiskFile>(all.data.files[place.file].path);
      open_file = place.file;
    }
    const ssize_t count = file->read(block.get(), place.offset, std::min(place.length, largest));
    if (count < 0) {
      all.fault = errno;
      return;
    }
    if (!file->direct()) all.past_cache = false;
    ++all.reads;
    all.bytes += std::min(static_cast<std::uint64_t>(count), place.length);
  }
}

ReadRate rate_of(const Measurement& all, unsigned depth, std::uint64_t began) {
  ReadRate out{.depth = depth, .reads = all.reads, .bytes = all.bytes};
  out.seconds = static_cast<double>(now_ns() - began) / 1e9;
  out.past_cache = all.past_cache && all.reads > 0;
  if (all.fault != 0) out.fault = ::strerrordesc_np(all.fault);
  return out;
}

std::uint64_t end_of(const ReadLimits& limits, std::uint64_t began) {
  return began + static_cast<std::uint64_t>(std::clamp(limits.seconds, 0.0, 600.0) * 1e9);
}

}  // namespace

ReadPlace random_place(const DataFiles& data, std::uint64_t record_bytes, std::uint64_t seed,
                       std::uint64_t n) {
  Random random({.seed = seed, .sample = n}, 0);
  if (data.files.empty()) return {};
  if (record_bytes == 0) {
    const std::size_t file = random.below(data.files.size());
    return {.file = file, .offset = 0, .length = data.files[file].bytes};
  }
  std::uint64_t at = random.below(std::max<std::uint64_t>(1, data.bytes));
  std::size_t file = 0;
  while (file + 1 < data.files.size() && at >= data.files[file].bytes) {
    at -= data.files[file++].bytes;
  }
  const std::uint64_t bytes = data.files[file].bytes;
  const std::uint64_t length = std::min(rounded_up(std::min(record_bytes, kMaxRecord)), bytes);
  const std::uint64_t offset = std::min(at, bytes - length) / kSector * kSector;
  return {.file = file, .offset = offset, .length = length};
}

ReadRate measure_sequential(const DataFiles& data, std::uint64_t seed, const ReadLimits& limits) {
  Measurement all(data, kBlock, seed, limits);
  const Block block = take_block(kBlock);
  if (data.files.empty() || !block) return {.fault = "there is nothing to read"};
  ReadPlace place = random_place(data, kBlock, seed, 0);
  const std::uint64_t began = now_ns();
  all.end_ns = end_of(limits, began);
  auto file = std::make_unique<DiskFile>(data.files[place.file].path);
  std::uint64_t ends_in_a_row = 0;  // consecutive files that were shorter than expected
  while (all.goes_on() && ends_in_a_row <= data.files.size()) {
    const std::uint64_t bytes = data.files[place.file].bytes;
    const std::uint64_t left = bytes - std::min(bytes, place.offset);
    const ssize_t count =
        left == 0 ? 0 : file->read(block.get(), place.offset, std::min(kBlock, left));
    if (count < 0) all.fault = errno;
    if (count > 0) {
      if (!file->direct()) all.past_cache = false;
      ends_in_a_row = 0;
      ++all.reads;
      all.bytes += std::min(static_cast<std::uint64_t>(count), left);
      place.offset += rounded_up(static_cast<std::uint64_t>(count));
      continue;
    }
    ++ends_in_a_row;
    place = {.file = (place.file + 1) % data.files.size(), .offset = 0, .length = 0};
    file = std::make_unique<DiskFile>(data.files[place.file].path);
  }
  return rate_of(all, 1, began);
}

ReadRate measure_random(const DataFiles& data, std::uint64_t record_bytes, unsigned depth,
                        std::uint64_t seed, const ReadLimits& limits) {
  Measurement all(data, record_bytes, seed, limits);
  if (data.files.empty() || depth == 0) return {.fault = "there is nothing to read"};
  const std::uint64_t began = now_ns();
  all.end_ns = end_of(limits, began);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < depth; ++i) threads.emplace_back([&all] { read_records(all); });
  threads.clear();  // joins the threads
  return rate_of(all, depth, began);
}

}  // namespace tundish
