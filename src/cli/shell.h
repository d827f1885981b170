// Shared by all verbs: where and how to print, and whether Ctrl-C was pressed.
//
// Results go to stdout, messages to stderr. With --json, stdout carries JSON only; with --quiet,
// stderr carries errors only. Color and the progress line need a terminal.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tundish::cli {

// Exit codes of the program.
enum Exit : int { kOk = 0, kFailed = 1, kUsage = 2, kDamaged = 3, kInterrupted = 130 };

int exit_of(ErrorCode code);

struct Shell {
  bool json = false;
  bool quiet = false;
  bool color = false;      // for messages on stderr
  bool out_color = false;  // for results on stdout
  std::string program;     // argv[0]

  // Detects the terminal, NO_COLOR, FORCE_COLOR and TERM.
  explicit Shell(std::string program);

  // Prints to stdout. Throws Error(io_write, disk_full); a closed pipe ends the process as usual.
  void print(std::string_view text) const;
  void flush() const;

  // Prints "  reading   image folder, ...": a line of a result, or a message (not with --quiet).
  void line(std::string_view word, std::string_view text) const;     // stdout, not with --json
  void message(std::string_view word, std::string_view text) const;  // stderr
  void warn(std::string_view text) const;                            // stderr, not with --quiet
  // Prints to stderr: a warning, or an error with --quiet, because it makes the exit code nonzero.
  void warn_of_failure(std::string_view text) const;

  // Prints an error to stderr and, with --json, as {"error": ...} to stdout.
  // Returns the exit code. Never throws.
  int fail(const Error& error) const { return fail(error, exit_of(error.code())); }
  int fail(const Error& error, int exit_code) const;  // for verbs that redefine exit code 1
  int fail(std::string_view text, int exit_code) const;
};

// Makes Ctrl-C (SIGINT, also SIGTERM and SIGHUP) set stop_flag(). A second signal ends the process.
void watch_interrupts();
const std::atomic<bool>& stop_flag();

// Throws Error(interrupted, file) if the flag is set.
void check_interrupt(const std::string& file);

}  // namespace tundish::cli
