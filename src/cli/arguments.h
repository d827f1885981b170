// The arguments after a verb. CLI11 parses them; the help text is ours and starts with an example.
//
// A verb may have several modes: `info --list` prints records, `info --stats` decodes images. A
// mode is a flag or option. Options of a mode are declared after section(mode), and parse() rejects
// them if the mode is not given.
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

using Args = std::vector<std::string>;  // without the verb

// Invalid command line: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct VerbHelp {
  const char* verb;
  const char* usage;     // after the verb: "SRC -o OUT.tnd [options]"
  const char* examples;  // one per line, the simplest first
  const char* text;      // what the verb does, in a few lines
  const char* json;      // the keys that --json prints, in a few lines
  const char* exits = "0 done, 1 failed, 2 wrong use, 3 data damaged or refused, 130 interrupted";
};

class Arguments {
 public:
  Arguments(const VerbHelp& help, Shell& shell);  // adds --json, --quiet, --no-color, --help
  ~Arguments();

  // `names` has the form "-o,--output". A variable keeps its value if the option is not given.
  void positional(std::string& into, const char* name, const char* text, bool required = true);
  // One or more.
  void positionals(std::vector<std::string>& into, const char* name, const char* text);
  void option(std::string& into, const char* names, const char* value, const char* text,
              bool required = false);
  void options(std::vector<std::string>& into, const char* names, const char* value,
               const char* text);  // repeatable
  void option(std::uint64_t& into, const char* names, const char* value, const char* text,
              std::uint64_t least, std::uint64_t most);
  void option(double& into, const char* names, const char* value, const char* text, double least,
              double most);
  void flag(bool& into, const char* names, const char* text);

  // Starts the options of a mode, such as "--stats". The help lists sections last.
  void section(const char* mode);

  // Returns false if help was requested and printed. Throws UsageError, also for renamed options
  // and for options of a mode that is not given.
  bool parse(const Args& args);

  // Valid after parse(): whether the user gave the option "--name".
  bool is_given(const char* name) const;

  // Valid after parse(): throws UsageError if `mode` and one of `options` are given.
  void exclude(const char* mode, std::initializer_list<const char*> options) const;

  std::string help() const;

 private:
  void check_renamed(const Args& args) const;
  void check_modes() const;
  std::string hint(const Args& args) const;

  struct Parser;
  VerbHelp help_;
  Shell& shell_;
  bool no_color_ = false;
  std::unique_ptr<Parser> parser_;
};

// Adds the shared option "--threads N"; 0 means all CPUs that the process may use.
void add_threads(Arguments& arguments, std::uint64_t& threads);

}  // namespace tundish::cli
