#include "cli/shell.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "cli/json.h"

namespace tundish::cli {
namespace {

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

extern "C" void on_interrupt(int number) {
  g_stop.store(true);
  ::signal(number, SIG_DFL);  // the second signal kills
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

bool use_color(int descriptor) {
  if (is_set("NO_COLOR")) return false;
  if (is_set("FORCE_COLOR")) return true;
  const char* term = std::getenv("TERM");
  return ::isatty(descriptor) && term && std::string_view(term) != "dumb";
}

constexpr const char* kBold = "\x1b[1m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kPlain = "\x1b[0m";

std::string paint(bool color, const char* code, std::string_view text) {
  return color ? fmt::format("{}{}{}", code, text, kPlain) : std::string(text);
}

// Ignores failures: stderr may be closed or full.
void to_stderr(const std::string& text) {
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t done = ::write(STDERR_FILENO, left.data(), left.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(done));
  }
}

[[noreturn]] void stdout_failed() {
  if (errno == EPIPE) {  // `tundish info FILE --list | head`: die of SIGPIPE like other tools
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
  }
  throw_errno("standard output", "writing", true);
}

}  // namespace

int exit_of(ErrorCode code) {
  const int number = static_cast<int>(code);
  switch (code) {
    case ErrorCode::argument:
      return kUsage;
    case ErrorCode::interrupted:
      return kInterrupted;
    case ErrorCode::class_empty:
    case ErrorCode::tar_damaged:
    case ErrorCode::tar_duplicate:
    case ErrorCode::csv_damaged:
    case ErrorCode::file_empty:
    case ErrorCode::source_changed:
    case ErrorCode::compression_damaged:
    case ErrorCode::label_unreadable:
    case ErrorCode::source_damaged:
      return kDamaged;
    case ErrorCode::no_such_record:
      return kFailed;
    default:
      break;
  }
  const bool data = (number >= 100 && number < 300) || (number >= 400 && number < 500);
  return data ? kDamaged : kFailed;
}

Shell::Shell(std::string program_name)
    : color(use_color(STDERR_FILENO)),
      out_color(use_color(STDOUT_FILENO)),
      program(std::move(program_name)) {
  // Makes writes return EPIPE and EFBIG, so that packing is not killed and can report the error.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

void Shell::print(std::string_view text) const {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) stdout_failed();
}

void Shell::flush() const {
  if (std::fflush(stdout) != 0) stdout_failed();
}

void Shell::line(std::string_view word, std::string_view text) const {
  if (json || quiet) return;
  print(fmt::format("  {} {}\n", paint(out_color, kBold, fmt::format("{:<9}", word)), text));
  flush();
}

void Shell::message(std::string_view word, std::string_view text) const {
  if (quiet) return;
  to_stderr(fmt::format("  {} {}\n", paint(color, kBold, fmt::format("{:<9}", word)), text));
}

void Shell::warn(std::string_view text) const {
  if (quiet) return;
  to_stderr(fmt::format("{} {}\n", paint(color, kYellow, "warning:"), text));
}

void Shell::warn_of_failure(std::string_view text) const {
  if (!quiet) return warn(text);
  to_stderr(fmt::format("{} {}\n", paint(color, kRed, "tundish:"), text));
}

int Shell::fail(const Error& error, int code) const {
  const std::string_view text = error.what();
  const std::size_t space = text.find(' ');
  to_stderr(paint(color, kRed, text.substr(0, space)) + std::string(text.substr(space)) + '\n');
  if (json) {
    try {
      Json body = error_json(error);
      body["exit"] = code;
      print_json(*this, Json{{"error", std::move(body)}});
      flush();
    } catch (...) {
      return code;  // stdout or memory failed; stderr has the message
    }
  }
  return code;
}

int Shell::fail(std::string_view text, int exit_code) const {
  to_stderr(fmt::format("{} {}\n", paint(color, kRed, "tundish:"), text));
  if (json) {
    try {
      const std::string shown = json_text(std::string(text));
      print_json(*this,
                 Json{{"error", {{"code", nullptr}, {"message", shown}, {"exit", exit_code}}}});
      flush();
    } catch (...) {
      return exit_code;
    }
  }
  return exit_code;
}

void watch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before{};
    // With nohup or in the background, an ignored signal stays ignored.
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
  }
}

const std::atomic<bool>& stop_flag() { return g_stop; }

void check_interrupt(const std::string& file) {
  if (g_stop.load()) throw Error(ErrorCode::interrupted, {.file = file}, "");
}

}  // namespace tundish::cli
