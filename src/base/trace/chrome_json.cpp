#include "base/trace/chrome_json.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/version.h"

namespace tundish {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{64} << 10;

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string heading(const char* kind, int process, int track, const std::string& name) {
  return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}},)"
                     "\n",
                     kind, process, track, quoted(name));
}

}  // namespace

struct ChromeJson::Output {
  gzFile file = nullptr;
  ~Output() {
    if (file) ::gzclose(file);
  }
};

ChromeJson::ChromeJson(std::string path, bool gzip, const std::string& process, int number)
    : path_(std::move(path)), process_(number), output_(std::make_unique<Output>()) {
  // Level 1: somebody is waiting for the loader to close while this file is written.
  output_->file = ::gzopen(path_.c_str(), gzip ? "wbe1" : "wbeT");
  if (!output_->file) throw_errno(path_, "making the trace", true);
  put("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  put(heading("process_name", process_, 0, process));
}

ChromeJson::~ChromeJson() = default;

void ChromeJson::add(const Track& track) {
  const int number = ++tracks_;
  put(heading("thread_name", process_, number, track.name()));
  for (const Span& span : track.spans()) {
    fmt::format_to(
        std::back_inserter(waiting_),
        R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03},"args":{{"number":{}}}}},)"
        "\n",
        span.name, process_, number, span.begin_ns / 1000, span.begin_ns % 1000,
        span.duration_ns / 1000, span.duration_ns % 1000, span.number);
    if (waiting_.size() >= kFlushBytes) flush();
  }
  dropped_ += track.dropped();
}

void ChromeJson::finish() {
  // A final event lets every event before it end in a comma.
  put(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{0},"tid":0,)"
                  R"("args":{{"sort_index":{0}}}}}],)"
                  "\n"
                  R"("otherData":{{"tundish":"{1}","dropped_spans":{2}}}}})"
                  "\n",
                  process_, version(), dropped_));
  flush();
  if (::gzclose(std::exchange(output_->file, nullptr)) != Z_OK) {
    throw_errno(path_, "writing the trace", true);
  }
}

void ChromeJson::put(const std::string& text) { waiting_ += text; }

void ChromeJson::flush() {
  if (waiting_.empty()) return;
  errno = 0;
  if (::gzwrite(output_->file, waiting_.data(), static_cast<unsigned>(waiting_.size())) <= 0) {
    throw_errno(path_, "writing the trace", true);
  }
  waiting_.clear();
}

}  // namespace tundish
