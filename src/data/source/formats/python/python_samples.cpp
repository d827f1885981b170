#include "data/source/formats/python/python_samples.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/interruption.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/formats/python/connection.h"

namespace tundish {
namespace {

// Connections that no thread currently uses.
class FreeConnections {
 public:
  explicit FreeConnections(std::vector<std::unique_ptr<Connection>> all) : free_(std::move(all)) {}

  // Waits for a connection. Throws Error(interrupted), and worker_ended if a connection was lost.
  std::unique_ptr<Connection> take(const std::string& name) {
    std::unique_lock lock(mutex_);
    for (;;) {
      check_stop(name);
      if (lost_) throw Error(ErrorCode::worker_ended, {.file = name}, "");
      if (!free_.empty()) break;
      returned_.wait_for(lock, std::chrono::milliseconds(100));
    }
    std::unique_ptr<Connection> out = std::move(free_.back());
    free_.pop_back();
    return out;
  }

  void put_back(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(connection));
    returned_.notify_one();
  }

  void lose() {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    returned_.notify_all();
  }

 private:
  std::mutex mutex_;  // guards all members
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> free_;
  bool lost_ = false;
};

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PythonSamples : public Source, public FileTimes {
 public:
  PythonSamples(const std::string& name, std::vector<std::unique_ptr<Connection>> connections)
      : name_(name), connections_(std::move(connections)) {
    std::vector<std::byte> payload;
    const AnswerKind kind = ask(payload, kAskDescription);
    if (kind != AnswerKind::description) fail_whole(kind, payload);
    if (const auto fault = parse_description(about_, payload)) {
      throw Error(fault->code, {.file = name_}, fault->reason);
    }
    labels_ = std::vector<std::atomic<std::int64_t>>(about_.random_access ? about_.count : 1);
    for (std::atomic<std::int64_t>& label : labels_) label.store(-1, std::memory_order_relaxed);
  }

  std::uint64_t count() const override { return about_.count; }
  const Schema& schema() const override { return about_.schema; }
  bool random_access() const override { return about_.random_access; }
  bool sizes_known() const override { return false; }
  bool labels_known() const override { return false; }
  std::uint64_t bytes(std::uint64_t) const override { return 0; }
  std::uint64_t memory() const override { return 8 * labels_.size(); }
  std::string path() const override { return name_; }
  std::string key(std::uint64_t i) const override { return fmt::format("{:08}", i); }

  // The label is known after the sample was read.
  SampleInfo info(std::uint64_t i) const override {
    return {.label = labels_[about_.random_access ? i : 0].load(std::memory_order_relaxed)};
  }

  // Python computes the identity from the schema and some samples; docs/sources.md.
  std::string fingerprint() const override {
    return fmt::format("{} {}", about_.count, about_.identity);
  }

  std::string file_times() const override { return ""; }  // the path is a name, not a file

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    if (!random_access()) throw Error(ErrorCode::no_random_access, {.file = name_}, "");
    if (!fetch(out, i)) {
      throw SampleError(ErrorCode::source_changed, where(i), "the dataset became shorter");
    }
    for (std::size_t f = 0; f < out.fields.size(); ++f) {
      if ((fields >> f & 1) == 0) out.fields[f].clear();
    }
  }

  void scan(const SampleSink& sink, const BadSink& bad) const override {
    if (random_access()) return Source::scan(sink, bad);
    Sample sample;
    for (std::uint64_t i = 0;; ++i) {
      try {
        if (!fetch(sample, i)) return;
      } catch (const SampleError& error) {
        if (!bad) throw;
        if (!bad(i, error)) return;
        continue;
      }
      if (i >= kMaxPythonSamples) {
        throw Error(ErrorCode::format_unsupported, {.file = name_},
                    fmt::format("more than {} samples", with_commas(kMaxPythonSamples)));
      }
      if (!sink(i, sample)) return;
    }
  }

 private:
  AnswerKind ask(std::vector<std::byte>& payload, std::uint64_t number) const {
    std::unique_ptr<Connection> connection = connections_.take(name_);
    try {
      const AnswerKind kind = connection->ask(payload, number);
      connections_.put_back(std::move(connection));
      return kind;
    } catch (...) {
      connections_.lose();
      throw;
    }
  }

  // Returns false at the end of the dataset.
  bool fetch(Sample& out, std::uint64_t i) const {
    std::vector<std::byte> payload;
    switch (const AnswerKind kind = ask(payload, i)) {
      case AnswerKind::sample:
        break;
      case AnswerKind::raised:
        throw SampleError(ErrorCode::sample_raised, where(i), text_of(payload));
      case AnswerKind::differs:
        throw SampleError(ErrorCode::sample_differs, where(i), text_of(payload));
      case AnswerKind::end:
        return false;
      default:
        fail_whole(kind, payload);
    }
    std::int64_t label = -1;
    if (const auto fault = parse_sample(out, label, about_.schema, payload)) {
      throw Error(fault->code, where(i), fault->reason);
    }
    labels_[about_.random_access ? i : 0].store(label, std::memory_order_relaxed);
    return true;
  }

  [[noreturn]] void fail_whole(AnswerKind kind, Bytes payload) const {
    if (kind != AnswerKind::failed) {
      throw Error(ErrorCode::worker_ended, {.file = name_}, "it answered something else");
    }
    throw Error(ErrorCode::sample_raised, {.file = name_}, text_of(payload));
  }

  std::string name_;
  mutable FreeConnections connections_;
  PythonDescription about_;
  mutable std::vector<std::atomic<std::int64_t>> labels_;  // a single one if samples come in order
};

}  // namespace

std::shared_ptr<const Source> open_python_samples(const std::string& name,
                                                  const std::vector<int>& sockets) {
  std::vector<std::unique_ptr<Connection>> connections;
  for (const int socket : sockets)
    connections.push_back(std::make_unique<Connection>(socket, name));
  return std::make_shared<PythonSamples>(name, std::move(connections));
}

}  // namespace tundish
