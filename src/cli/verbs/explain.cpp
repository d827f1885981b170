// tundish explain: the table behind every TND-nnn. `--all` prints docs/errors.md.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/json.h"
#include "cli/verbs.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "explain",
    .usage = "TND-nnn | --all",
    .examples = R"(tundish explain TND-203
tundish explain 203)",
    .text = R"(Prints what an error code means, what causes it and what to do. With --all:
every code, as the page docs/errors.md.)",
    .json = R"({code, title, reason, fix}; with --all an array of these)"};

// Replaces the placeholder of the file name for readers of the table.
std::string remedy_text(const ErrorEntry& entry) {
  std::string text = entry.remedy;
  for (std::size_t at; (at = text.find("{file}")) != std::string::npos;)
    text.replace(at, 6, "FILE");
  return text;
}

Json entry_json(const ErrorEntry& entry) {
  return {{"code", error_name(entry.code)},
          {"title", entry.title},
          {"reason", entry.explanation},
          {"fix", remedy_text(entry)}};
}

std::string page() {
  std::string out =
      "# Error codes\n\n"
      "Printed by `tundish explain --all`. A number never changes its meaning. A message names "
      "the\n"
      "file, the record, the byte (from the beginning of the file), the reason and the fix; in\n"
      "Python the exception has the same text, and the code in `.code`.\n\n"
      "The titles below continue a message, after the name of the file or record: `TND-203\n"
      "train.tnd: record 63 (cat/14.jpg) fails its checksum`.\n";
  int group = 0;
  for (const ErrorEntry& entry : error_table()) {
    const int hundred = static_cast<int>(entry.code) / 100;
    if (hundred != group) {
      group = hundred;
      constexpr std::array kGroups = {
          "",       "The pack as a whole", "One record",       "Sources",
          "Images", "The machine",         "How it was called"};
      out += fmt::format("\n## {}xx: {}\n", group, kGroups.at(static_cast<std::size_t>(group)));
    }
    out += fmt::format("\n### {}: {}\n\n{}\n\nFix: {}.\n", error_name(entry.code), entry.title,
                       entry.explanation, remedy_text(entry));
  }
  return out;
}

// Accepts "TND-203", "tnd203" and "203".
const ErrorEntry& find_entry(const std::string& word) {
  std::string digits = word;
  for (char& c : digits) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (digits.starts_with("tnd")) digits.erase(0, 3);
  if (digits.starts_with("-")) digits.erase(0, 1);
  const bool number =
      !digits.empty() && digits.size() <= 4 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  const ErrorEntry* entry =
      number ? find_error(static_cast<ErrorCode>(std::stoi(digits))) : nullptr;
  if (!entry) {
    throw UsageError(fmt::format("there is no error code '{}'; tundish explain --all lists them",
                                 printable(word)));
  }
  return *entry;
}

}  // namespace

int run_explain(const Args& args, Shell& shell) {
  std::string code;
  bool all = false;
  Arguments arguments(kHelp, shell);
  arguments.positional(code, "CODE", "TND-203, or 203", false);
  arguments.flag(all, "--all", "every code");
  if (!arguments.parse(args)) return kOk;
  if (all == !code.empty()) throw UsageError("give one code, or --all");

  if (all) {
    if (!shell.json) {
      shell.print(page());
      return kOk;
    }
    Json array = Json::array();
    for (const ErrorEntry& entry : error_table()) array.push_back(entry_json(entry));
    print_json(shell, array);
    return kOk;
  }
  const ErrorEntry& entry = find_entry(code);
  if (shell.json) {
    print_json(shell, entry_json(entry));
  } else {
    shell.print(fmt::format("{} {}\n  why: {}\n  fix: {}\n", error_name(entry.code), entry.title,
                            entry.explanation, remedy_text(entry)));
  }
  return kOk;
}

}  // namespace tundish::cli
