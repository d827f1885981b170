// Between the threads that prepare samples and the one that writes them: any number prepare in
// any order, the writer receives them in order, and what is in flight stays within a budget.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "data/pack/digest.h"
#include "data/pack/write/writer.h"
#include "data/source/source.h"

namespace tundish {

// A sample ready to be written, or the reason why it will not be.
struct Prepared {
  std::uint64_t number = 0;  // in the source
  Sample sample = {};
  SampleInfo info = {};
  std::string key = {};
  std::uint64_t record = 0;             // its expected number in the pack
  std::vector<std::uint32_t> crc = {};  // of each stored field, as record `record`
  PackId digest{};
  std::vector<std::byte> restore = {};      // of a lanes record
  std::uint32_t restore_crc = 0;            // as record `record`
  std::uint64_t jpeg_bytes = 0;             // of the file that became a lanes record
  lanes::Unfit unfit = lanes::Unfit::none;  // why a JPEG did not
  bool copied = false;                      // as it was in another pack
  std::uint64_t bytes = 0;                  // in flight because of this sample
  Preprocessed preprocessed = Preprocessed::fits;
  std::uint64_t original_bytes = 0;  // of an image that was changed, before
  std::optional<Refusal> refusal = {};
  std::optional<Refusal> doubt = {};  // packed, but it cannot be decoded
};

// Thread safety: claim, deliver, finish and fail for the preparers, take and release for one
// writer, stop for any thread.
class Handover {
 public:
  // Places begin at `first`.
  explicit Handover(std::uint64_t budget_bytes, std::uint64_t first = 0)
      : budget_(budget_bytes), next_claimed_(first), next_taken_(first) {}

  // The next place in the order, once there is room for the `expected(place)` bytes.
  // One sample always has room. Empty when the places below `count` are given out or it is over.
  std::optional<std::uint64_t> claim(std::uint64_t count,
                                     const std::function<std::uint64_t(std::uint64_t)>& expected);

  void deliver(std::uint64_t place, std::uint64_t expected, Prepared prepared);

  void finish(std::uint64_t count);     // no place from `count` on will be delivered
  void fail(std::exception_ptr error);  // take() throws it, once the next place is not there
  void stop();                          // preparers: claim() gives nothing any more

  // The next in order. Empty after `patience`, or when all were taken: see done(). Throws what
  // fail() was given.
  std::optional<Prepared> take(std::chrono::milliseconds patience);
  bool done() const;

  void release(std::uint64_t bytes);  // the writer no longer holds them

 private:
  static constexpr std::uint64_t kWindow = 256;  // places in flight

  const std::uint64_t budget_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable room_, ready_;
  std::map<std::uint64_t, Prepared> delivered_;
  std::uint64_t next_claimed_, next_taken_;
  std::uint64_t in_flight_ = 0, in_flight_bytes_ = 0;
  std::uint64_t count_ = ~std::uint64_t{0};
  std::exception_ptr error_;
  bool stopped_ = false;
};

}  // namespace tundish
