// Connects the threads that prepare samples with the thread that writes them. Preparers work in
// any order, the writer receives samples in order, and samples in flight stay within a budget.
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

// A sample ready to be written, or the reason why it is refused.
struct Prepared {
  std::uint64_t number = 0;  // sample number in the source
  Sample sample = {};
  SampleInfo info = {};
  std::string key = {};
  std::uint64_t record = 0;             // expected record number in the pack
  std::vector<std::uint32_t> crc = {};  // per stored field, for record number `record`
  PackId digest{};
  std::vector<std::byte> restore = {};      // restore data of a lanes record
  std::uint32_t restore_crc = 0;            // for record number `record`
  std::uint64_t jpeg_bytes = 0;             // size of the JPEG that became a lanes record
  lanes::Unfit unfit = lanes::Unfit::none;  // why a JPEG was not re-coded
  bool copied = false;                      // copied unchanged from another pack
  std::uint64_t bytes = 0;                  // bytes in flight because of this sample
  Preprocessed preprocessed = Preprocessed::fits;
  std::uint64_t original_bytes = 0;  // size of a changed image before the change
  std::optional<Refusal> refusal = {};
  std::optional<Refusal> doubt = {};  // packed although it cannot be decoded
};

// Thread safety: claim, deliver, finish and fail may be called by the preparers, take and release
// by one writer, stop by any thread.
class OrderedQueue {
 public:
  // The first place is `first`.
  explicit OrderedQueue(std::uint64_t budget_bytes, std::uint64_t first = 0)
      : budget_(budget_bytes), next_claimed_(first), next_taken_(first) {}

  // Returns the next place in the order, once there is room for its `expected(place)` bytes. One
  // sample always has room. Returns empty if all places below `count` are claimed or after stop().
  std::optional<std::uint64_t> claim(std::uint64_t count,
                                     const std::function<std::uint64_t(std::uint64_t)>& expected);

  void deliver(std::uint64_t place, std::uint64_t expected, Prepared prepared);

  void finish(std::uint64_t count);     // no place from `count` on will be delivered
  void fail(std::exception_ptr error);  // take() rethrows it when the next place is missing
  void stop();                          // makes claim() return empty

  // Returns the next sample in order. Empty after `timeout`, or when all were taken: see done().
  // Throws the exception passed to fail().
  std::optional<Prepared> take(std::chrono::milliseconds timeout);
  bool done() const;

  void release(std::uint64_t bytes);  // the writer has freed these bytes

 private:
  static constexpr std::uint64_t kWindow = 256;  // places in flight

  const std::uint64_t budget_;
  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable room_, ready_;
  std::map<std::uint64_t, Prepared> delivered_;
  std::uint64_t next_claimed_, next_taken_;
  std::uint64_t in_flight_ = 0, in_flight_bytes_ = 0;
  std::uint64_t count_ = ~std::uint64_t{0};
  std::exception_ptr error_;
  bool stopped_ = false;
};

}  // namespace tundish
