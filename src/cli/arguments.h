// The words after a verb. Parsing is CLI11's; the help is ours, because it starts with an example.
//
// A verb may do several things: `info --list` prints records, `info --stats` decodes images. Such a
// flag or option is a mode. Options of a mode follow section(mode), and parse() refuses them when
// the mode is not given.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/shell.h"

namespace tundish::cli {

using Words = std::vector<std::string>;  // without the verb

// The user typed something that makes no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct VerbHelp {
  const char* verb;
  const char* usage;     // after the verb: "SRC -o OUT.tnd [options]"
  const char* examples;  // one per line, the plainest first
  const char* text;      // what it does, in a few lines
  const char* json;      // the keys that --json prints, in a few lines
  const char* exits = "0 done, 1 failed, 2 wrong use, 3 data damaged or refused, 130 interrupted";
};

class Arguments {
 public:
  Arguments(const VerbHelp& help, Shell& shell);  // adds --json, --quiet, --no-color, --help
  ~Arguments();

  // `names` as in "-o,--output"; the variable keeps its value when the option is not given.
  void word(std::string& into, const char* name, const char* text, bool required = true);
  void words(std::vector<std::string>& into, const char* name, const char* text);  // one or more
  void option(std::string& into, const char* names, const char* value, const char* text,
              bool required = false);
  void options(std::vector<std::string>& into, const char* names, const char* value,
               const char* text);  // may be given several times
  void option(std::uint64_t& into, const char* names, const char* value, const char* text,
              std::uint64_t least, std::uint64_t most);
  void option(double& into, const char* names, const char* value, const char* text, double least,
              double most);
  void flag(bool& into, const char* names, const char* text);

  // Starts the options of a mode, such as "--stats"; the help lists them after all others.
  void section(const char* mode);

  // False when help was asked for and printed. Throws UsageError, also for options that were
  // renamed and for options of a mode that is not given.
  bool parse(const Words& words);

  // After parse(): whether the user gave the option "--name".
  bool is_given(const char* name) const;

  // After parse(): throws UsageError if `mode` and one of `options` are given.
  void exclude(const char* mode, std::initializer_list<const char*> options) const;

  std::string help() const;

 private:
  void check_renamed(const Words& words) const;
  void check_modes() const;
  std::string hint(const Words& words) const;

  struct Parser;
  VerbHelp help_;
  Shell& shell_;
  bool no_color_ = false;
  std::unique_ptr<Parser> parser_;
};

// Common to several verbs: "--threads N", 0 for as many as the process may use.
void add_threads(Arguments& arguments, std::uint64_t& threads);

}  // namespace tundish::cli
