// Times the parts of one sample and records the activity of its thread, for the statistics, the
// watchdog and the trace. Not thread-safe.
//
// Decoding and augmenting alternate strip by strip. Their shares are measured on one in kMeasured
// samples (on all samples if there is a trace) and assumed for the other samples.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/image.h"
#include "data/order/order.h"
#include "loader/monitor/worker_status.h"

namespace tundish {

struct SampleTimes {
  std::uint64_t read_ns = 0, decode_ns = 0, augment_ns = 0;
  std::uint64_t bytes = 0;  // bytes read
};

class SampleTimer {
 public:
  static constexpr std::uint64_t kMeasured = 16;

  WorkerStatus* status = nullptr;  // receives the thread's activity; null: not recorded

  void begin_sample();  // resets all times to 0
  void begin_read(const Draw& draw);
  void end_read(const Draw& draw, std::uint64_t bytes);  // `bytes`: number of bytes read
  void begin_decode(const Draw& draw);
  void end_sample(const Draw& draw, Codec codec);  // after decoding and augmenting
  void end_gather();                               // for a GPU: all after reading is decoding

  // Whether the caller measures the time that this sample spends in decoding.
  bool is_measured() const { return measured_; }
  void add_decode(std::uint64_t spent_ns) { times_.decode_ns += spent_ns; }

  // Adds the times to the thread's totals. tally_failed() adds the time up to the failure.
  void tally();
  void tally_failed();

  // Records a failed sample in the trace.
  void trace_bad(const Draw& draw) const;

  const SampleTimes& times() const { return times_; }         // times of the last sample
  std::uint64_t measured_ns() const { return measured_ns_; }  // decoding and augmenting
  std::uint64_t measured_decode_ns() const { return measured_decode_ns_; }

  // Takes over the measured shares when the buffers are replaced (admission.h).
  void take_over(const SampleTimer& other);

 private:
  void say(const Draw& draw, WorkerStatus::Activity activity, std::uint64_t since_ns) const;

  Track* track_ = nullptr;  // the sample's track; a trace may start and stop meanwhile
  std::uint64_t begin_ns_ = 0, planned_ns_ = 0;
  SampleTimes times_;
  bool measured_ = false;
  std::uint64_t samples_ = 0, measured_ns_ = 0, measured_decode_ns_ = 0;
};

}  // namespace tundish
