#include "pack/write/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "pack/metadata.h"
#include "pack/write/appender.h"
#include "pack/write/make_tables.h"
#include "pack/write/prepare.h"
#include "pack/write/preparers.h"

namespace tundish {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr std::uint64_t kFirstRecords = 64;  // examined when sizes are not known beforehand

bool is_worth_telling(const LanesReport& report) {
  return report.images > 0 || std::any_of(std::begin(report.unfit), std::end(report.unfit),
                                          [](std::uint64_t n) { return n > 0; });
}

// For the provenance: what the JPEGs were, and why some stayed as they came.
std::string lanes_json(const LanesReport& report) {
  if (!is_worth_telling(report)) return "";
  std::string kept;
  for (std::size_t i = 1; i < lanes::kUnfits; ++i) {
    if (report.unfit[i] == 0) continue;
    kept += fmt::format("{}\"{}\":{}", kept.empty() ? "" : ",",
                        lanes::unfit_name(static_cast<lanes::Unfit>(i)), report.unfit[i]);
  }
  return fmt::format(
      R"({{"images":{},"jpeg_bytes":{},"kept":{{{}}},"record_bytes":{},"restore_bytes":{},"trained_on":{}}})",
      report.images, report.jpeg_bytes, kept, report.record_bytes, report.restore_bytes,
      report.trained_on);
}

// What the source knows of its size before anything is read.
struct Expectation {
  std::uint64_t bytes = 0;  // of all samples
  bool known = true;
};

Expectation expect(const Source& source) {
  Expectation out{.known = source.sizes_known()};
  for (std::uint64_t i = 0; i < source.count(); ++i) out.bytes += source.bytes(i);
  return out;
}

std::uint32_t alignment_for(std::uint64_t bytes, std::uint64_t records) {
  return records > 0 && bytes / records < kSmallRecord ? 8 : 64;
}

// Takes what comes out of the handover, in order, to the file, and reports on it.
class Writer {
 public:
  Writer(const std::string& target, const Source& source, const PackOptions& options)
      : target_(target),
        source_(source),
        options_(options),
        expectation_(expect(source)),
        aligned_(expectation_.known),
        out_(target, options.replace, source.schema()) {
    state_.samples_total = source.count();
    state_.bytes_total = expectation_.known ? expectation_.bytes : 0;
    if (expectation_.known) {
      out_.set_alignment(alignment_for(expectation_.bytes, source.count()));
      // Preprocessed images have sizes of their own.
      out_.reserve(source.count(), options.preprocessor ? 0 : expectation_.bytes, options.lanes);
    }
  }

  PackReport run() {
    choose_tables();
    records();
    if (report_.samples == 0) throw nothing_left();
    const std::string preprocess =
        options_.preprocessor ? preprocess_json(*options_.preprocessor, report_.preprocess) : "";
    out_.finish(report_, metadata_json(source_.schema(), lanes_json(report_.lanes), preprocess),
                tables_.get());
    return std::move(report_);
  }

 private:
  void choose_tables() {
    if (!options_.lanes || source_.schema().find(FieldType::image) < 0) return;
    tables_ = make_tables(report_.lanes.trained_on, source_, options_);
  }

  void records() {
    Handover handover(options_.memory_bytes);
    const Preparers preparers(handover, source_, options_, tables_.get());
    while (!handover.done()) {
      if (options_.stop && *options_.stop) {
        throw Error(ErrorCode::interrupted, {.file = target_}, "");
      }
      std::optional<Prepared> prepared = handover.take(kProgressEvery);
      if (prepared) {
        const std::uint64_t bytes = prepared->bytes;
        sample(*prepared);
        handover.release(bytes);
      }
      tell();
    }
    if (!aligned_) release_first();
    told_ = {};
    tell();
  }

  void sample(Prepared& prepared) {
    ++state_.samples;
    state_.bytes += expectation_.known ? source_.bytes(prepared.number) : prepared.bytes;
    if (prepared.doubt) report_.doubtful.push_back(std::move(*prepared.doubt));
    if (prepared.refusal) {
      ++state_.refused;
      report_.refused.push_back(std::move(*prepared.refusal));
    } else if (aligned_) {
      record(prepared);
    } else {
      hold_back(prepared);
    }
  }

  // Without known sizes the first records wait until their sizes decide the alignment.
  void hold_back(Prepared& prepared) {
    first_bytes_ += prepared.bytes;
    first_.push_back(std::move(prepared));
    // More cannot lower the mean of kFirstRecords below the mark.
    if (first_.size() == kFirstRecords || first_bytes_ >= kFirstRecords * kSmallRecord) {
      release_first();
    }
  }

  void release_first() {
    out_.set_alignment(alignment_for(first_bytes_, first_.size()));
    aligned_ = true;
    for (Prepared& prepared : first_) record(prepared);
    first_ = {};
  }

  void record(Prepared& prepared) {
    const std::uint64_t number = report_.samples++;
    // Checksums hold the record's number; after a refusal that is no longer the sample's.
    if (number != prepared.number) compute_checksums(prepared, source_.schema(), number);
    out_.add(prepared);
    const Schema& schema = source_.schema();
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      if (schema.fields[f].type == FieldType::label) continue;
      report_.source_bytes += prepared.sample.fields[f].size();
    }
    count_preprocessed(prepared);
    count_lanes(prepared);
    if (schema.find(FieldType::image) >= 0) {
      ++report_.samples_by_codec[static_cast<std::size_t>(prepared.info.codec)];
      report_.kept_as_they_came += prepared.info.codec == Codec::unknown;
    }
  }

  void count_preprocessed(const Prepared& prepared) {
    const int image = source_.schema().find(FieldType::image);
    if (!options_.preprocessor || image < 0) return;
    PreprocessReport& report = report_.preprocess;
    ++report.images[static_cast<std::size_t>(prepared.preprocessed)];
    if (prepared.preprocessed != Preprocessed::changed) return;
    const std::uint64_t stored = prepared.sample.fields[static_cast<std::size_t>(image)].size();
    report.bytes_before += prepared.original_bytes;
    report.bytes_after += stored + prepared.restore.size();
    report_.source_bytes += prepared.original_bytes - stored;
  }

  void count_lanes(const Prepared& prepared) {
    if (options_.preprocessor && prepared.preprocessed == Preprocessed::changed) return;
    LanesReport& report = report_.lanes;
    if (prepared.unfit != lanes::Unfit::none) {
      ++report.unfit[static_cast<std::size_t>(prepared.unfit)];
    }
    if (prepared.info.codec != Codec::lanes) return;
    const auto image = static_cast<std::size_t>(source_.schema().find(FieldType::image));
    ++report.images;
    report.jpeg_bytes += prepared.jpeg_bytes;
    report.record_bytes += prepared.sample.fields[image].size();
    report.restore_bytes += prepared.restore.size();
    report_.source_bytes += prepared.jpeg_bytes - prepared.sample.fields[image].size();
  }

  void tell() {
    const Clock::time_point now = Clock::now();
    if (!options_.progress || now - told_ < kProgressEvery) return;
    told_ = now;
    options_.progress(state_);
  }

  Error nothing_left() const {
    return Error(ErrorCode::source_empty, {.file = source_.path()},
                 report_.refused.empty()
                     ? "there are no samples"
                     : fmt::format("all {} samples were refused; the first: {}",
                                   with_commas(report_.refused.size()), report_.refused[0].text));
  }

  const std::string target_;
  const Source& source_;
  const PackOptions& options_;
  const Expectation expectation_;
  bool aligned_;                 // the alignment is decided
  std::vector<Prepared> first_;  // held back until then
  std::uint64_t first_bytes_ = 0;
  std::shared_ptr<const lanes::Tables> tables_;  // second owner: the built-in ones
  Appender out_;
  PackReport report_;
  PackProgress state_;
  Clock::time_point told_{};
};

}  // namespace

PackReport pack(const std::string& target, const Source& source, const PackOptions& options) {
  if (const auto fault = check_schema(source.schema())) {
    throw Error(ErrorCode::argument, {.file = source.path()}, fault->reason);
  }
  try {
    return Writer(target, source, options).run();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::no_memory, {.file = target}, "while packing");
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::no_memory, {.file = target}, error.what());  // no thread could start
  }
}

}  // namespace tundish
