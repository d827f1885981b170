// A terminal that is drawn again and again, and its keys.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

namespace tundish::cli {

// Takes the whole screen over, and gives it back as it was.
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

  // In one write, so that nothing flickers. Lines below the screen are left out.
  void draw(const std::vector<std::string>& lines) const;

  // Waits up to this long; true when a key says that it is enough: q, Ctrl-C, Escape alone.
  bool wait_for_quit(int milliseconds) const;

 private:
  termios before_{};
  bool changed_ = false;
};

}  // namespace tundish::cli
