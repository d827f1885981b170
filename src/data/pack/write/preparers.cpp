#include "data/pack/write/preparers.h"

#include <fmt/format.h>

#include "base/interruption.h"
#include "base/machine/usable_cpus.h"
#include "codec/decode/jpeg_limits.h"
#include "data/pack/copy/copy_record.h"
#include "data/pack/write/prepare.h"
#include "data/source/unknown_count.h"

namespace tundish {
namespace {

lanes::TranscodeOptions transcode_options(const PackOptions& options) {
  return {.max_growth = options.max_growth,
          .strip_metadata = options.strip_metadata,
          .limits = jpeg_limits(options.limits)};
}

void prepare_by_number(OrderedQueue& queue, const Source& source, const Wanted& wanted,
                       const PackOptions& options, Recoder& recoder) {
  const Limits& limits = options.limits;
  RecordCopier copier(recoder.tables);
  const auto expected = [&](std::uint64_t i) { return source.bytes(i); };
  while (const auto place = queue.claim(wanted.end, expected)) {
    Prepared prepared{.number = *place, .record = *place - wanted.before};
    try {
      if (!options.copy_records || !copier.copy(prepared, source)) {
        source.read_original(prepared.sample, *place, kAllFields, limits);
        prepare(prepared, source, limits, recoder);
      }
    } catch (const SampleError& error) {
      if (error.code() == ErrorCode::no_memory) throw;  // fault of the machine, not of the sample
      refuse(prepared, source, error);
    }
    queue.deliver(*place, expected(*place), std::move(prepared));
  }
}

void prepare_by_scan(OrderedQueue& queue, const Source& source, const Wanted& wanted,
                     const Limits& limits, Recoder& recoder) {
  if (wanted.first >= wanted.end) return queue.finish(wanted.end);
  std::uint64_t places = wanted.first;
  bool ended_early = false;
  const auto hand_over = [&](Prepared& prepared) {
    const std::uint64_t bytes = prepared.bytes;
    const auto place = queue.claim(wanted.end, [&](std::uint64_t) { return bytes; });
    if (!place) return !(ended_early = true);
    places = *place + 1;
    queue.deliver(*place, bytes, std::move(prepared));
    // Scans to the end of the source if the end is requested: damage may be there.
    return places < wanted.end || wanted.end == source.count();
  };
  source.scan(
      [&](std::uint64_t i, Sample& sample) {
        if (i < wanted.first) return true;
        Prepared prepared{.number = i, .record = i - wanted.before};
        std::swap(prepared.sample.fields, sample.fields);
        prepare(prepared, source, limits, recoder);
        return hand_over(prepared);
      },
      [&](std::uint64_t i, const SampleError& error) {
        if (i < wanted.first) return true;
        if (error.code() == ErrorCode::no_memory) throw error;
        Prepared prepared{.number = i};
        refuse(prepared, source, error);
        return hand_over(prepared);
      });
  if (!ended_early && places != wanted.end && count_known(source)) {
    throw Error(ErrorCode::source_changed, {.file = source.path()},
                fmt::format("{} samples came, {} were announced", with_commas(places),
                            with_commas(wanted.end)));
  }
  queue.finish(places);
}

}  // namespace

Preparers::Preparers(OrderedQueue& queue, const Source& source, const Wanted& wanted,
                     const PackOptions& options, const lanes::Tables* tables)
    : queue_(queue) {
  const auto run = [this, &queue, &source, wanted, &options, tables] {
    const StopScope interruptible(stop_request(options.stop));
    try {
      Recoder recoder{.tables = tables, .options = transcode_options(options), .memory = &memory_};
      if (options.preprocessor) recoder.step = options.preprocessor->make_step();
      source.random_access() ? prepare_by_number(queue, source, wanted, options, recoder)
                             : prepare_by_scan(queue, source, wanted, options.limits, recoder);
    } catch (...) {
      queue.fail(std::current_exception());
    }
  };
  std::size_t threads =
      options.threads > 0 ? static_cast<std::size_t>(options.threads) : usable_cpus();
  if (!source.random_access()) threads = 1;
  if (source.random_access()) queue.finish(wanted.end);
  threads_.reserve(threads);
  while (threads_.size() < threads) {
    try {
      threads_.emplace_back(run);
    } catch (const std::exception&) {
      if (threads_.empty()) throw;
      break;  // fewer threads suffice
    }
  }
}

Preparers::~Preparers() {
  queue_.stop();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace tundish
