#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/renamed.h"
#include "cli/text.h"

namespace tundish::cli {

struct Arguments::Parser {
  CLI::App app;
  struct Row {
    std::string names;
    std::string text;
  };
  struct Section {
    std::string mode;  // empty: options of the verb itself
    std::vector<Row> rows;
    std::vector<std::string> long_names;
  };
  std::vector<Row> positionals;
  std::vector<Section> sections = {{}};

  void add(const std::string& names, const char* value, const char* text, std::size_t section) {
    // The help shows "-o,--output" as "-o, --output FILE".
    std::string shown = names;
    const std::size_t comma = shown.find(',');
    if (comma != std::string::npos) shown.insert(comma + 1, " ");
    if (comma == std::string::npos && shown.starts_with("--")) shown.insert(0, "    ");
    if (*value) shown += fmt::format(" {}", value);
    sections[section].rows.push_back({shown, text});
    const std::size_t dashes = names.find("--");
    if (dashes != std::string::npos) {
      sections[section].long_names.push_back(names.substr(dashes));
    }
  }

  void add(const std::string& names, const char* value, const char* text) {
    add(names, value, text, sections.size() - 1);
  }

  void add_flag(bool& into, const char* names, const char* text, std::size_t section) {
    add(names, "", text, section);
    app.add_flag(names, into);
  }

  // `name`: a long option. App::count() allocates in a noexcept function.
  bool is_given(const std::string& name) const {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& known : option->get_lnames()) {
        if (name.compare(2, name.npos, known) == 0) return option->count() > 0;
      }
    }
    return false;
  }

  // Returns the width of the first column of the help.
  std::size_t width_of_names() const {
    std::size_t out = 22;
    for (const Section& section : sections) {
      for (const Row& row : section.rows) out = std::max(out, row.names.size());
    }
    return out;
  }

  std::vector<std::string> long_names() const {
    std::vector<std::string> out;
    for (const Section& section : sections) {
      out.insert(out.end(), section.long_names.begin(), section.long_names.end());
    }
    return out;
  }
};

namespace {

// Returns "--size" for "--size=224"; empty if the argument is not a long option.
std::string long_name_of(const std::string& word) {
  return word.starts_with("--") && word.size() > 2 ? word.substr(0, word.find('=')) : "";
}

// Parses a number that fits T; empty unless the whole argument is consumed.
template <class T>
std::optional<T> parsed(const std::string& word) {
  T out = 0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, out);
  if (error != std::errc{} || at != end) return std::nullopt;
  return out;
}

}  // namespace

Arguments::Arguments(const VerbHelp& help, Shell& shell)
    : help_(help), shell_(shell), parser_(std::make_unique<Parser>()) {
  parser_->app.set_help_flag();
  parser_->app.allow_extras(false);
}

Arguments::~Arguments() = default;

void Arguments::positional(std::string& into, const char* name, const char* text, bool required) {
  parser_->positionals.push_back({name, text});
  parser_->app.add_option(name, into)->required(required);
}

void Arguments::positionals(std::vector<std::string>& into, const char* name, const char* text) {
  parser_->positionals.push_back({name, text});
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
  // Exactly one value: CLI11 would also consume the arguments after it.
  parser_->app.add_option(names, into)->type_size(1)->allow_extra_args(false);
}

void Arguments::option(std::uint64_t& into, const char* names, const char* value, const char* text,
                       std::uint64_t least, std::uint64_t most) {
  parser_->add(names, value, text);
  parser_->app.add_option(names, into)->check([=](const std::string& word) -> std::string {
    const auto number = parsed<std::uint64_t>(word);
    if (number && *number >= least && *number <= most) return {};
    return fmt::format("'{}' is not a whole number from {} to {}", printable(word), least, most);
  });
}

void Arguments::option(double& into, const char* names, const char* value, const char* text,
                       double least, double most) {
  parser_->add(names, value, text);
  parser_->app.add_option(names, into)->check([=](const std::string& word) -> std::string {
    const auto number = parsed<double>(word);
    if (number && *number >= least && *number <= most) return {};
    return fmt::format("'{}' is not a number from {} to {}", printable(word), least, most);
  });
}

void Arguments::flag(bool& into, const char* names, const char* text) {
  parser_->add_flag(into, names, text, parser_->sections.size() - 1);
}

void Arguments::section(const char* mode) { parser_->sections.push_back({mode, {}, {}}); }

bool Arguments::parse(const Args& args) {
  bool help = false;
  parser_->add_flag(shell_.json, "--json", "print JSON on stdout, for programs", 0);
  parser_->add_flag(shell_.quiet, "-q,--quiet", "print errors only", 0);
  parser_->add_flag(no_color_, "--no-color", "no colors (also: the variable NO_COLOR)", 0);
  parser_->add_flag(help, "-h,--help", "print this", 0);
  // Checked before parsing, so that help is printed and errors are JSON even for invalid arguments.
  for (const std::string& word : args) {
    if (word == "--") break;
    if (word == "--help" || word == "-h") help = true;
    if (word == "--json") shell_.json = true;
    if (word == "--no-color") shell_.color = shell_.out_color = false;
  }
  if (help) {
    shell_.print(this->help());
    return false;
  }
  check_renamed(args);
  try {
    // CLI11 consumes arguments from the back.
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    parser_->app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    throw UsageError(printable(error.what()) + hint(args));
  }
  check_modes();
  return true;
}

bool Arguments::is_given(const char* name) const { return parser_->is_given(name); }

void Arguments::exclude(const char* mode, std::initializer_list<const char*> options) const {
  for (const char* option : options) {
    if (!is_given(mode) || !is_given(option)) continue;
    throw UsageError(fmt::format("{} and {} cannot be combined", option, mode));
  }
}

void Arguments::check_renamed(const Args& args) const {
  const std::vector<std::string> known = parser_->long_names();
  for (const std::string& word : args) {
    if (word == "--") return;
    const std::string name = long_name_of(word);
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    check_option_not_renamed(help_.verb, name);
  }
}

void Arguments::check_modes() const {
  for (const Parser::Section& section : parser_->sections) {
    if (section.mode.empty() || parser_->is_given(section.mode)) continue;
    for (const std::string& name : section.long_names) {
      if (!parser_->is_given(name)) continue;
      throw UsageError(fmt::format("{} is only for {}", name, section.mode));
    }
  }
}

// Returns "; did you mean --size?" for the first unknown option.
std::string Arguments::hint(const Args& args) const {
  const std::vector<std::string> known = parser_->long_names();
  for (const std::string& word : args) {
    const std::string name = long_name_of(word);
    if (name.size() < 4 || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = did_you_mean(name, known);
    return near.empty() ? "" : fmt::format("; did you mean {}?", near);
  }
  return {};
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
  const std::size_t width = parser_->width_of_names();
  const auto add = [&](const std::vector<Parser::Row>& rows) {
    for (const Parser::Row& row : rows) {
      out += fmt::format("  {:<{}} {}\n", row.names, width, row.text);
    }
  };
  add(parser_->positionals);
  for (const Parser::Section& section : parser_->sections) {
    if (!section.mode.empty()) out += fmt::format("\nwith {}:\n", section.mode);
    add(section.rows);
  }
  out += fmt::format("\nwith --json:\n{}\n\nexit codes: {}\n", help_.json, help_.exits);
  return out;
}

void add_threads(Arguments& arguments, std::uint64_t& threads) {
  arguments.option(threads, "-j,--threads", "N", "threads; 0: as many as there are cores", 0, 1024);
}

}  // namespace tundish::cli
