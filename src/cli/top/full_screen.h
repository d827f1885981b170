// A terminal for repeated full-screen drawing, with keyboard input.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

namespace tundish::cli {

// Takes over the whole screen and restores it on destruction.
class FullScreen {
 public:
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  struct Size {
    std::size_t width = 80, height = 24;
  };
  Size size() const;

  // Draws in one write to avoid flicker. Omits lines below the screen.
  void draw(const std::vector<std::string>& lines) const;

  // Waits for `milliseconds`. Returns true if the user quits: q, Ctrl-C, Escape alone.
  bool wait_for_quit(int milliseconds) const;

 private:
  termios before_{};
  bool changed_ = false;
};

}  // namespace tundish::cli
