// The words after a verb. Parsing is CLI11's; the help is ours, because it starts with an example.
#pragma once

#include <cstdint>
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
  void flag(bool& into, const char* names, const char* text);

  // False when help was asked for and printed. Throws UsageError.
  bool parse(const Words& words);

  std::string help() const;

 private:
  struct Parser;
  VerbHelp help_;
  Shell& shell_;
  bool no_color_ = false;
  std::unique_ptr<Parser> parser_;
};

// Common to several verbs: "--threads N", 0 for as many as the process may use.
void add_threads(Arguments& arguments, std::uint64_t& threads);

}  // namespace tundish::cli
