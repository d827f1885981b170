#include "cli/pack/log.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "base/file.h"
#include "cli/arguments.h"
#include "data/pack/output_file.h"

namespace tundish::cli {
namespace {

constexpr const char* kLogHead = "# refused by tundish pack";

bool is_our_log(const std::string& path) {
  std::string first(std::string_view(kLogHead).size(), ' ');
  try {
    File::open(path).read_at(std::as_writable_bytes(std::span(first)), 0);
  } catch (const Error&) {
    return false;  // no such file
  }
  return first == kLogHead;
}

}  // namespace

std::string write_log(const std::string& target, const PackReport& report, bool force,
                      const Shell& shell) {
  const std::string path = target + ".log";
  if (report.refused.empty() && report.doubtful.empty()) {
    if (is_our_log(path)) ::unlink(path.c_str());
    return {};
  }
  std::string text = fmt::format("{}: {} of {} samples\n", kLogHead, report.refused.size(),
                                 report.refused.size() + report.samples);
  for (const Refusal& refusal : report.refused) text += refusal.text + '\n';
  for (const Refusal& sample : report.doubtful) text += "packed, but broken: " + sample.text + '\n';
  try {
    OutputFile log(path, force || is_our_log(path));
    log.write_at(std::as_bytes(std::span(text)), 0);
    log.commit(text.size());
  } catch (const Error& error) {
    shell.warn(fmt::format("{} could not be written: {}", printable(path), error.what()));
    return {};
  }
  return path;
}

void check_log(const std::string& target, bool force) {
  const std::string path = target + ".log";
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || is_our_log(path)) return;
  if (S_ISDIR(status.st_mode)) {
    throw UsageError(fmt::format("{} is a folder; refused files are named in a file of that name",
                                 printable(path)));
  }
  if (!force) {
    throw Error(ErrorCode::output_exists, {.file = path},
                "refused files are named in a file of that name, and this is no log of "
                "tundish pack");
  }
}

}  // namespace tundish::cli
