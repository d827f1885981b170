#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/text.h"

namespace tundish::cli {
namespace {

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && !(term && std::string_view(term) == "dumb");
}

std::string bar(double share, std::size_t width, bool blocks) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  std::string out;
  for (std::size_t i = 0; i < width; ++i) {
    out += blocks ? (i < full ? "█" : "░") : (i < full ? "#" : ".");
  }
  return out;
}

}  // namespace

bool has_blocks() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    const std::string_view text = value;
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
  }
  return false;
}

Progress::Progress(const Shell& shell, const char* word, const char* unit)
    : active_(!shell.quiet && is_terminal()),
      color_(shell.color),
      word_(word),
      unit_(unit),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { wipe(); }

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::show(const Amount& amount, std::string_view remark) {
  if (!active_) return;
  const double now = seconds();
  if (now - drawn_at_ < 0.1) return;
  drawn_at_ = now;
  drawn_ = true;
  const std::size_t columns = std::max<std::size_t>(terminal_columns(), 30);
  const std::string text = progress_line(amount, now, unit_, remark, columns - 13, has_blocks());
  const std::string word = fmt::format("{:<9}", word_);
  const std::string line =
      fmt::format("\r  {} {}\x1b[K", color_ ? "\x1b[1m" + word + "\x1b[0m" : word, text);
  [[maybe_unused]] const ssize_t done = ::write(STDERR_FILENO, line.data(), line.size());
}

void Progress::wipe() {
  if (!drawn_) return;
  drawn_ = false;
  constexpr std::string_view kWipe = "\r\x1b[K";
  [[maybe_unused]] const ssize_t done = ::write(STDERR_FILENO, kWipe.data(), kWipe.size());
}

std::string progress_line(const Amount& amount, double seconds, const char* unit,
                          std::string_view remark, std::size_t columns, bool blocks) {
  // Bytes predict the remaining time better than image counts, as images differ in size.
  const bool by_bytes = amount.bytes_total > 0;
  const double done = static_cast<double>(by_bytes ? amount.bytes : amount.items);
  const double total = static_cast<double>(by_bytes ? amount.bytes_total : amount.items_total);
  const double share = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 0;
  const double per_second = seconds > 0 ? static_cast<double>(amount.items) / seconds : 0;
  const double bytes_per_second = seconds > 0 ? static_cast<double>(amount.bytes) / seconds : 0;

  std::string head = total > 0 ? fmt::format("{:3.0f} %", share * 100)
                               : fmt::format("{} {}", with_commas(amount.items), unit);
  std::string tail;
  if (amount.items > 0) tail += fmt::format("   {} {}/s", rate_text(per_second), unit);
  if (amount.bytes > 0) tail += fmt::format("   {:.0f} MB/s", bytes_per_second / 1e6);
  // An early estimate would be unreliable.
  if (total > 0 && done > 0 && seconds > 1) {
    tail += fmt::format("   {} left", duration_text(seconds * (total - done) / done));
  }
  if (!remark.empty()) tail += fmt::format("   {}", remark);

  constexpr std::size_t kBar = 22;
  if (total > 0 && head.size() + tail.size() + kBar + 1 <= columns) {
    head = bar(share, kBar, blocks) + ' ' + head;
    return head + tail;
  }
  return (head + tail).substr(0, columns);
}

}  // namespace tundish::cli
