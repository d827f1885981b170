#include "cli/top/full_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace tundish::cli {
namespace {

void to_terminal(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(STDOUT_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;  // terminal gone; the signal for that ends the process
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

}  // namespace

FullScreen::FullScreen() {
  if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios keys = before_;
    keys.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));  // Ctrl-C remains a signal
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  to_terminal("\x1b[?1049h\x1b[?25l");  // alternate screen, no cursor
}

FullScreen::~FullScreen() {
  to_terminal("\x1b[?25h\x1b[?1049l");
  if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

FullScreen::Size FullScreen::size() const {
  winsize window{};
  Size out;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
    out = {.width = window.ws_col, .height = window.ws_row};
  }
  return out;
}

void FullScreen::draw(const std::vector<std::string>& lines) const {
  std::string out = "\x1b[H";
  const std::size_t count = std::min(lines.size(), size().height - 1);
  for (std::size_t i = 0; i < count; ++i) out += lines[i] + "\x1b[K\r\n";
  to_terminal(out + "\x1b[J");
}

bool FullScreen::wait_for_quit(int milliseconds) const {
  pollfd keys{STDIN_FILENO, POLLIN, 0};
  if (::poll(&keys, 1, milliseconds) <= 0) return false;
  char typed[32];
  const ssize_t count = ::read(STDIN_FILENO, typed, sizeof typed);
  if (count <= 0) return errno != EINTR;  // end of input
  const bool escape = count == 1 && typed[0] == '\x1b';
  return escape || std::any_of(typed, typed + count, [](char c) { return c == 'q' || c == 'Q'; });
}

}  // namespace tundish::cli
