#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/text.h"

namespace tundish::cli {

struct Arguments::Parser {
  CLI::App app;
  struct Row {
    std::string names;
    std::string text;
  };
  std::vector<Row> words;
  std::vector<Row> options;
  std::vector<std::string> long_names;

  void add(const std::string& names, const char* value, const char* text) {
    // "-o,--output" is shown as "-o, --output FILE"
    std::string shown = names;
    const std::size_t comma = shown.find(',');
    if (comma != std::string::npos) shown.insert(comma + 1, " ");
    if (comma == std::string::npos && shown.starts_with("--")) shown.insert(0, "    ");
    if (*value) shown += fmt::format(" {}", value);
    options.push_back({shown, text});
    const std::size_t dashes = names.find("--");
    if (dashes != std::string::npos) long_names.push_back(names.substr(dashes));
  }
};

Arguments::Arguments(const VerbHelp& help, Shell& shell)
    : help_(help), shell_(shell), parser_(std::make_unique<Parser>()) {
  parser_->app.set_help_flag();
  parser_->app.allow_extras(false);
}

Arguments::~Arguments() = default;

void Arguments::word(std::string& into, const char* name, const char* text, bool required) {
  parser_->words.push_back({name, text});
  parser_->app.add_option(name, into)->required(required);
}

void Arguments::words(std::vector<std::string>& into, const char* name, const char* text) {
  parser_->words.push_back({name, text});
  parser_->app.add_option(name, into)->required();
}

void Arguments::option(std::string& into, const char* names, const char* value, const char* text,
                       bool required) {
  parser_->add(names, value, text);
  parser_->app.add_option(names, into)->required(required);
}

void Arguments::options(std::vector<std::string>& into, const char* names, const char* value,
                        const char* text) {
  parser_->add(names, value, text);
  // One value each: CLI11 would take the words behind it as well.
  parser_->app.add_option(names, into)->type_size(1)->allow_extra_args(false);
}

void Arguments::option(std::uint64_t& into, const char* names, const char* value, const char* text,
                       std::uint64_t least, std::uint64_t most) {
  parser_->add(names, value, text);
  parser_->app.add_option(names, into)->check([=](const std::string& word) -> std::string {
    std::uint64_t number = 0;
    const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (digits && CLI::detail::lexical_cast(word, number) && number >= least && number <= most) {
      return {};
    }
    return fmt::format("'{}' is not a whole number from {} to {}", printable(word), least, most);
  });
}

void Arguments::flag(bool& into, const char* names, const char* text) {
  parser_->add(names, "", text);
  parser_->app.add_flag(names, into);
}

bool Arguments::parse(const Words& words) {
  bool help = false;
  flag(shell_.json, "--json", "print JSON on stdout, for programs");
  flag(shell_.quiet, "-q,--quiet", "print errors only");
  flag(no_color_, "--no-color", "no colours (also: the variable NO_COLOR)");
  flag(help, "-h,--help", "print this");
  // Seen before parsing, so that help comes and errors are JSON although the rest is wrong.
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word == "--help" || word == "-h") help = true;
    if (word == "--json") shell_.json = true;
    if (word == "--no-color") shell_.color = shell_.out_color = false;
  }
  if (help) {
    shell_.print(this->help());
    return false;
  }
  try {
    // CLI11 takes the words from the back.
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    parser_->app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    std::string hint;
    for (const std::string& word : words) {
      const std::string name = word.substr(0, word.find('='));
      const auto& known = parser_->long_names;
      if (!name.starts_with("--") || name.size() < 4) continue;
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string near = did_you_mean(name, known);
      if (!near.empty()) hint = fmt::format("; did you mean {}?", near);
      break;
    }
    throw UsageError(fmt::format("{}{}", printable(error.what()), hint));
  }
  return true;
}

std::string Arguments::help() const {
  std::string out = "examples:\n";
  std::string_view rest = help_.examples;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    out += fmt::format("  {}\n", rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  out += fmt::format("\nusage: tundish {} {}\n\n{}\n\n", help_.verb, help_.usage, help_.text);
  for (const Parser::Row& row : parser_->words) {
    out += fmt::format("  {:<22} {}\n", row.names, row.text);
  }
  for (const Parser::Row& row : parser_->options) {
    out += fmt::format("  {:<22} {}\n", row.names, row.text);
  }
  out += fmt::format("\nwith --json:\n{}\n\n", help_.json);
  out += "exit codes: 0 done, 1 failed, 2 wrong use, 3 data damaged or refused, 130 interrupted\n";
  return out;
}

void add_threads(Arguments& arguments, std::uint64_t& threads) {
  arguments.option(threads, "-j,--threads", "N", "threads; 0: as many as there are cores", 0, 1024);
}

}  // namespace tundish::cli
