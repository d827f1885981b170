#include "loader/sample/sample_timer.h"

namespace tundish {
namespace {

const char* decode_span(Codec codec) {
  switch (codec) {
    case Codec::jpeg:
      return "decode.jpeg";
    case Codec::png:
      return "decode.png";
    case Codec::npy:
      return "decode.npy";
    case Codec::raw:
      return "decode.raw";
    case Codec::webp:
      return "decode.webp";
    case Codec::bmp:
      return "decode.bmp";
    case Codec::gif:
      return "decode.gif";
    default:
      return "lanes.decode";
  }
}

}  // namespace

void SampleTimer::say(const Draw& draw, WorkerStatus::Activity activity,
                      std::uint64_t since_ns) const {
  if (!status) return;
  status->sample.store(draw.sample, std::memory_order_relaxed);
  status->since_ns.store(since_ns, std::memory_order_relaxed);
  status->activity.store(activity, std::memory_order_release);
}

void SampleTimer::begin_sample() {
  track_ = status ? status->track.load() : nullptr;
  measured_ = track_ || samples_++ % kMeasured == 0;
  begin_ns_ = now_ns();
  times_ = {};
}

void SampleTimer::begin_read(const Draw& draw) {
  begin_ns_ = now_ns();
  say(draw, WorkerStatus::Activity::reading, begin_ns_);
}

void SampleTimer::end_read(const Draw& draw, std::uint64_t bytes) {
  const std::uint64_t end_ns = now_ns();
  times_.bytes = bytes;
  times_.read_ns = end_ns - begin_ns_;
  say(draw, WorkerStatus::Activity::waiting, end_ns);
}

void SampleTimer::begin_decode(const Draw& draw) {
  planned_ns_ = now_ns();
  say(draw, WorkerStatus::Activity::decoding, planned_ns_);
}

void SampleTimer::end_sample(const Draw& draw, Codec codec) {
  const std::uint64_t both_ns = now_ns() - planned_ns_;
  if (measured_) {
    measured_ns_ += both_ns;
    measured_decode_ns_ += times_.decode_ns;
  }
  if (!track_) {
    times_.decode_ns = measured_ns_ == 0
                           ? both_ns
                           : static_cast<std::uint64_t>(static_cast<double>(both_ns) *
                                                        static_cast<double>(measured_decode_ns_) /
                                                        static_cast<double>(measured_ns_));
  }
  times_.augment_ns = both_ns - times_.decode_ns;
  if (!track_) return;
  // Shown one after the other, although decoding and augmenting alternate.
  track_->add("source.read", begin_ns_, times_.read_ns, draw.sample);
  track_->add(decode_span(codec), planned_ns_, times_.decode_ns, draw.sample);
  track_->add("augment.resample", planned_ns_ + times_.decode_ns, times_.augment_ns, draw.sample);
}

void SampleTimer::end_gather() {
  times_.decode_ns = now_ns() - begin_ns_ - times_.read_ns;
  times_.augment_ns = 0;
}

void SampleTimer::tally_failed() {
  if (times_.read_ns == 0) {
    times_.read_ns = now_ns() - begin_ns_;
  } else if (times_.decode_ns == 0) {
    times_.decode_ns = now_ns() - begin_ns_ - times_.read_ns;
  }
  tally();
}

void SampleTimer::tally() {
  status->samples.add(1);
  status->read_ns.add(times_.read_ns);
  status->decode_ns.add(times_.decode_ns);
  status->augment_ns.add(times_.augment_ns);
  status->bytes.add(times_.bytes);
}

void SampleTimer::trace_bad(const Draw& draw) const {
  if (track_) track_->add("sample.bad", begin_ns_, now_ns() - begin_ns_, draw.sample);
}

void SampleTimer::take_over(const SampleTimer& other) {
  status = other.status;
  track_ = other.track_;
  samples_ = other.samples_;
  measured_ns_ = other.measured_ns_;
  measured_decode_ns_ = other.measured_decode_ns_;
}

}  // namespace tundish
