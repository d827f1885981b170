// Trace file in Chrome's JSON format, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <memory>
#include <string>

#include "base/trace/trace.h"

namespace tundish {

class ChromeJson {
 public:
  // Creates or truncates the file. `process` and its number label the tracks. All throw Error.
  ChromeJson(std::string path, bool gzip, const std::string& process, int number);
  ~ChromeJson();

  void add(const Track& track);
  void finish();

 private:
  struct Output;
  void put(const std::string& text);
  void flush();

  std::string path_, waiting_;
  int process_;
  int tracks_ = 0;
  std::uint64_t dropped_ = 0;
  std::unique_ptr<Output> output_;
};

}  // namespace tundish
