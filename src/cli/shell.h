// What every verb shares: where it prints, in which manner, and whether Ctrl-C was pressed.
//
// Results go to stdout, messages to stderr. With --json stdout carries JSON only; with --quiet
// stderr carries errors only. Color and a moving progress line need a terminal.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tundish::cli {

// The exit codes of the program.
enum Exit : int { kOk = 0, kFailed = 1, kUsage = 2, kDamaged = 3, kInterrupted = 130 };

int exit_of(ErrorCode code);

struct Shell {
  bool json = false;
  bool quiet = false;
  bool color = false;      // of messages on stderr
  bool out_color = false;  // of results on stdout
  std::string program;     // argv[0]

  // Looks at the terminal, NO_COLOR, FORCE_COLOR and TERM.
  explicit Shell(std::string program);

  // stdout. Throws Error(io_write, disk_full); a closed pipe ends the process as usual.
  void print(std::string_view text) const;
  void flush() const;

  // "  reading   image folder, ...": a line of a result, or of a message (not with --quiet).
  void line(std::string_view word, std::string_view text) const;     // stdout, not with --json
  void message(std::string_view word, std::string_view text) const;  // stderr
  void warn(std::string_view text) const;                            // stderr, not with --quiet
  // stderr: as a warning, and with --quiet as an error, because it is why the exit code is not 0.
  void warn_of_failure(std::string_view text) const;

  // Prints an error on stderr, and as {"error": ...} on stdout with --json.
  // Returns the exit code. Never throws.
  int fail(const Error& error) const { return fail(error, exit_of(error.code())); }
  int fail(const Error& error, int exit_code) const;  // of a verb with a meaning of its own for 1
  int fail(std::string_view text, int exit_code) const;
};

// Ctrl-C (SIGINT, also SIGTERM and SIGHUP) sets stop_flag(); a second one ends the process.
void watch_interrupts();
const std::atomic<bool>& stop_flag();

// Throws Error(interrupted, file) once the flag is set.
void check_interrupt(const std::string& file);

}  // namespace tundish::cli
