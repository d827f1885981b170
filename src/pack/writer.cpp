#include "pack/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>

#include "core/interruption.h"
#include "core/machine/usable_cpus.h"
#include "decode/jpeg_limits.h"
#include "pack/checksum.h"
#include "pack/handover.h"
#include "pack/index.h"
#include "pack/make_tables.h"
#include "pack/metadata.h"
#include "pack/output_file.h"
#include "pack/prepare.h"

namespace tundish {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::uint64_t kFirstRecords = 64;  // examined when sizes are not known beforehand
constexpr std::uint64_t kGuessedKeyBytes = 48;

// Appends bytes in order, writes them in large pieces, and updates the digest.
class Appender {
 public:
  explicit Appender(OutputFile& file) : file_(file) { buffer_.reserve(kBufferBytes); }

  std::uint64_t at() const { return written_ + buffer_.size(); }

  void put(Bytes bytes) {
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() >= kBufferBytes) {
      write(bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }
  template <std::integral T>
  void put_word(T value) {
    std::array<std::byte, sizeof(T)> word;
    store(word.data(), value);
    put(word);
  }
  void pad(std::uint64_t alignment) {
    while (at() % alignment != 0) put_word(std::uint8_t{0});
  }
  void flush() {
    write(buffer_);
    buffer_.clear();
  }
  PackId digest() const { return digest_.value(); }

 private:
  void write(Bytes bytes) {
    file_.write_at(bytes, written_);
    digest_.add(bytes);
    written_ += bytes.size();
  }

  OutputFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = kHeadBytes;
  Digest digest_;
};

bool is_worth_telling(const LanesReport& report) {
  return report.images > 0 || std::any_of(std::begin(report.unfit), std::end(report.unfit),
                                          [](std::uint64_t n) { return n > 0; });
}

// For the provenance: what the JPEGs were, and why some stayed as they came.
std::string lanes_json(const LanesReport& report) {
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

lanes::TranscodeOptions transcode_options(const PackOptions& options) {
  return {.max_growth = options.max_growth,
          .strip_metadata = options.strip_metadata,
          .limits = jpeg_limits(options.limits)};
}

// The threads that prepare samples; joined when it goes.
class Preparers {
 public:
  Preparers(Handover& handover, const Source& source, const PackOptions& options,
            const lanes::Tables* tables)
      : handover_(handover) {
    const auto run = [&handover, &source, &options, tables] {
      const StopScope interruptible(stop_request(options.stop));
      try {
        Recoder recoder{.tables = tables, .options = transcode_options(options)};
        source.random_access() ? by_number(handover, source, options.limits, recoder)
                               : by_scan(handover, source, options.limits, recoder);
      } catch (...) {
        handover.fail(std::current_exception());
      }
    };
    std::size_t wanted =
        options.threads > 0 ? static_cast<std::size_t>(options.threads) : usable_cpus();
    if (!source.random_access()) wanted = 1;
    if (source.random_access()) handover.finish(source.count());
    threads_.reserve(wanted);
    while (threads_.size() < wanted) {
      try {
        threads_.emplace_back(run);
      } catch (const std::exception&) {
        if (threads_.empty()) throw;
        break;  // fewer will do
      }
    }
  }
  ~Preparers() {
    handover_.stop();
    for (std::thread& thread : threads_) thread.join();
  }
  Preparers(const Preparers&) = delete;
  Preparers& operator=(const Preparers&) = delete;

 private:
  static void by_number(Handover& handover, const Source& source, const Limits& limits,
                        Recoder& recoder) {
    const auto expected = [&](std::uint64_t i) { return source.bytes(i); };
    while (const auto place = handover.claim(source.count(), expected)) {
      Prepared prepared{.number = *place};
      try {
        source.read_original(prepared.sample, *place, kAllFields, limits);
        prepare(prepared, source, limits, recoder);
      } catch (const SampleError& error) {
        if (error.code() == ErrorCode::no_memory) throw;  // the machine's fault, not the sample's
        refuse(prepared, source, error);
      }
      handover.deliver(*place, expected(*place), std::move(prepared));
    }
  }

  static void by_scan(Handover& handover, const Source& source, const Limits& limits,
                      Recoder& recoder) {
    std::uint64_t places = 0;
    bool ended_early = false;
    const auto hand_over = [&](Prepared& prepared) {
      const std::uint64_t bytes = prepared.bytes;
      const auto place = handover.claim(source.count(), [&](std::uint64_t) { return bytes; });
      if (!place) return !(ended_early = true);
      places = *place + 1;
      handover.deliver(*place, bytes, std::move(prepared));
      return true;
    };
    source.scan(
        [&](std::uint64_t i, Sample& sample) {
          Prepared prepared{.number = i};
          std::swap(prepared.sample.fields, sample.fields);
          prepare(prepared, source, limits, recoder);
          return hand_over(prepared);
        },
        [&](std::uint64_t i, const SampleError& error) {
          if (error.code() == ErrorCode::no_memory) throw error;
          Prepared prepared{.number = i};
          refuse(prepared, source, error);
          return hand_over(prepared);
        });
    if (!ended_early && places != source.count()) {
      throw Error(ErrorCode::source_changed, {.file = source.path()},
                  fmt::format("{} samples came, {} were announced", with_commas(places),
                              with_commas(source.count())));
    }
    handover.finish(places);
  }

  Handover& handover_;
  std::vector<std::thread> threads_;
};

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

// Writes what comes out of the handover, in order, and the sections behind it.
class Writer {
 public:
  Writer(const std::string& target, const Source& source, const PackOptions& options)
      : target_(target),
        source_(source),
        options_(options),
        expectation_(expect(source)),
        stored_(stored_fields(source.schema())),
        file_(target, options.replace),
        out_(file_) {
    index_.length.resize(stored_);
    id_.add(schema_json(source.schema()));
    state_.samples_total = source.count();
    state_.bytes_total = expectation_.known ? expectation_.bytes : 0;
    if (expectation_.known) {
      const std::uint64_t count = source.count();
      head_.alignment = alignment_for(expectation_.bytes, count);
      file_.reserve(expectation_.bytes + count * (head_.alignment / 2 + kGuessedKeyBytes) +
                    index_bytes(count, stored_, options.lanes).value_or(0));
    }
  }

  PackReport run() {
    choose_tables();
    records();
    if (report_.samples == 0) throw nothing_left();
    sections();
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
    // Without known sizes the first records wait until their sizes decide the alignment.
    bool aligned = expectation_.known;
    std::vector<Prepared> first;
    std::uint64_t first_bytes = 0;
    const auto release_first = [&] {
      head_.alignment = alignment_for(first_bytes, first.size());
      aligned = true;
      for (Prepared& prepared : first) record(prepared);
      first.clear();
    };
    while (!handover.done()) {
      if (options_.stop && *options_.stop) throw Error(ErrorCode::interrupted, where(), "");
      std::optional<Prepared> prepared = handover.take(kProgressEvery);
      if (!prepared) {
        tell();
        continue;
      }
      const std::uint64_t bytes = prepared->bytes;
      ++state_.samples;
      state_.bytes += expectation_.known ? source_.bytes(prepared->number) : bytes;
      if (prepared->doubt) report_.doubtful.push_back(std::move(*prepared->doubt));
      if (prepared->refusal) {
        ++state_.refused;
        report_.refused.push_back(std::move(*prepared->refusal));
      } else if (aligned) {
        record(*prepared);
      } else {
        first_bytes += bytes;
        first.push_back(std::move(*prepared));
        // More cannot lower the mean of kFirstRecords below the mark.
        if (first.size() == kFirstRecords || first_bytes >= kFirstRecords * kSmallRecord) {
          release_first();
        }
      }
      handover.release(bytes);
      tell();
    }
    if (!aligned) release_first();
    told_ = {};
    tell();
  }

  void record(Prepared& prepared) {
    const std::uint64_t number = report_.samples++;
    // Checksums hold the record's number; after a refusal that is no longer the sample's.
    if (number != prepared.number) compute_checksums(prepared, source_.schema(), number);

    out_.pad(head_.alignment);
    std::size_t column = 0;
    for (std::size_t f = 0; f < source_.schema().fields.size(); ++f) {
      if (source_.schema().fields[f].type == FieldType::label) continue;
      const std::vector<std::byte>& bytes = prepared.sample.fields[f];
      out_.put(bytes);
      out_.put_word(prepared.crc[column]);
      index_.length[column].push_back(bytes.size());
      report_.source_bytes += bytes.size();
      ++column;
    }
    if (prepared.info.codec == Codec::lanes) {
      out_.put(prepared.restore);
      out_.put_word(prepared.restore_crc);
      head_.incompatible |= kFeatureLanes;
    }
    index_.restore.push_back(prepared.restore.size());
    count_lanes(prepared);
    index_.label.push_back(prepared.info.label);
    index_.width.push_back(prepared.info.width);
    index_.height.push_back(prepared.info.height);
    index_.codec.push_back(static_cast<std::uint8_t>(prepared.info.codec));
    index_.orientation.push_back(prepared.info.orientation);
    id_.add(prepared.digest);
    name(prepared.key);
    if (source_.schema().find(FieldType::image) >= 0) {
      ++report_.samples_by_codec[static_cast<std::size_t>(prepared.info.codec)];
      report_.kept_as_they_came += prepared.info.codec == Codec::unknown;
    }
  }

  void count_lanes(const Prepared& prepared) {
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

  void name(const std::string& key) {
    if (key.size() > ~std::uint32_t{0}) {
      throw Error(ErrorCode::argument, where(), "a sample's name is longer than 4 GiB");
    }
    name_bytes_ += key;
    name_lengths_.push_back(static_cast<std::uint32_t>(key.size()));
    if (name_lengths_.size() == kNamesPerBlock) end_names_block();
  }

  void end_names_block() {
    if (name_lengths_.empty()) return;
    const Bytes lengths = std::as_bytes(std::span(name_lengths_));
    const Bytes bytes = std::as_bytes(std::span(name_bytes_));
    std::uint32_t crc = begin_piece_crc(index_.names_bytes.size(), kNamesPiece);
    crc = mask_crc(crc32c(bytes, crc32c(lengths, crc)));
    index_.names_bytes.push_back(lengths.size() + bytes.size() + kCrcBytes);
    if (index_.names_bytes.back() > kMaxNamesBytes) {
      throw Error(ErrorCode::argument, where(), "the names of 1,024 samples take over 256 MiB");
    }
    names_.insert(names_.end(), lengths.begin(), lengths.end());
    names_.insert(names_.end(), bytes.begin(), bytes.end());
    const Bytes end = std::as_bytes(std::span(&crc, 1));
    names_.insert(names_.end(), end.begin(), end.end());
    name_lengths_.clear();
    name_bytes_.clear();
  }

  void sections() {
    end_names_block();
    Tail tail;
    const auto section = [&](Section& out, const auto& body) {
      out_.pad(kSectionAlignment);
      out.offset = out_.at();
      body();
      out.bytes = out_.at() - out.offset;
    };
    const std::string json = metadata_json(
        source_.schema(), is_worth_telling(report_.lanes) ? lanes_json(report_.lanes) : "");
    if (json.size() + kCrcBytes > kMaxMetadataBytes) {
      throw Error(ErrorCode::argument, where(), "the class names take more than 100 MB");
    }
    section(tail.metadata, [&] {
      const Bytes bytes = std::as_bytes(std::span(json));
      out_.put(bytes);
      out_.put_word(piece_crc(kNoRecord, kMetadataPiece, bytes));
    });
    // A pack without lanes looks as if they did not exist.
    const bool lanes = head_.incompatible & kFeatureLanes;
    if (!lanes) index_.restore.clear();
    section(tail.tables, [&] {
      std::vector<std::byte> tables;
      if (lanes) tables = lanes::compress_tables(*tables_);
      out_.put(tables);
      out_.put_word(piece_crc(kNoRecord, kTablesPiece, tables));
    });
    section(tail.names, [&] { out_.put(names_); });
    section(tail.index, [&] { for_each_column(index_, [&](Bytes part) { out_.put(part); }); });
    out_.pad(kSectionAlignment);
    out_.flush();

    head_.id = tail.id = id_.value();
    tail.digest = out_.digest();
    tail.count = report_.samples;
    tail.file_bytes = out_.at() + kTailBytes;
    file_.write_at(encode_tail(tail), out_.at());
    file_.write_at(encode_head(head_), 0);
    report_.file_bytes = tail.file_bytes;
    report_.id = hex(head_.id);
    file_.commit(tail.file_bytes);  // the last step: behind it nothing may fail
  }

  void tell() {
    const Clock::time_point now = Clock::now();
    if (!options_.progress || now - told_ < kProgressEvery) return;
    told_ = now;
    options_.progress(state_);
  }

  Where where() const { return {.file = target_}; }

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
  const std::size_t stored_;
  std::shared_ptr<const lanes::Tables> tables_;  // second owner: the built-in ones
  OutputFile file_;
  Appender out_;
  Head head_;
  Index index_;
  Digest id_;
  std::vector<std::byte> names_;             // finished blocks
  std::vector<std::uint32_t> name_lengths_;  // of the block that grows
  std::string name_bytes_;
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
