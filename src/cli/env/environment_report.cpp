#include "cli/env/environment_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/version.h"

namespace tundish::cli {
namespace {

std::string level_text(Level level, bool color) {
  constexpr std::array kCodes = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};
  const std::string word = fmt::format("{:<8}", level_name(level));
  if (!color) return word;
  return fmt::format("{}{}\x1b[0m", kCodes[static_cast<std::size_t>(level)], word);
}

std::string summary(const Findings& findings) {
  const std::size_t problems = count_of(findings, Level::problem);
  const std::size_t warnings = count_of(findings, Level::warning);
  return fmt::format("{} problem{}, {} warning{}, {} ok", problems, problems == 1 ? "" : "s",
                     warnings, warnings == 1 ? "" : "s", count_of(findings, Level::ok));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Escapes text for a table cell: line breaks, bars and tags would break the table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : printable(one_line(text))) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '[' || c == '<')
      out += '\\';
    out += c;
  }
  return out;
}

// Formats a cell as code, which preserves shell syntax. Bars end a cell even inside code.
std::string code_cell(const std::string& text) {
  std::string out;
  for (const char c : printable(one_line(text))) {
    if (c == '|') out += '\\';
    out += c == '`' ? '\'' : c;
  }
  return out.empty() ? out : fmt::format("`{}`", out);
}

}  // namespace

std::size_t count_of(const Findings& findings, Level level) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [&](const Finding& one) { return one.level == level; }));
}

Level worst_level(const Findings& findings) {
  Level worst = Level::ok;
  for (const Finding& one : findings) worst = std::max(worst, one.level);
  return worst;
}

std::string environment_text(const Findings& findings, bool color) {
  std::string out, area;
  for (const Finding& one : findings) {
    if (one.area != area) out += fmt::format("{}{}\n", area.empty() ? "" : "\n", one.area);
    area = one.area;
    out += fmt::format("  {} {:<23} {}\n", level_text(one.level, color), one.name, one.figure);
    if (!one.reason.empty()) out += fmt::format("           {}\n", one.reason);
    if (!one.fix.empty()) out += fmt::format("           fix: {}\n", one.fix);
  }
  return out + fmt::format("\n{}\n", summary(findings));
}

std::string environment_markdown(const Findings& findings) {
  std::string out = fmt::format("tundish {}: {}\n\n", version(), summary(findings));
  out += "| | area | what | figure | fix |\n|---|---|---|---|---|\n";
  for (const Finding& one : findings) {
    std::string figure = cell(one.figure);
    if (!one.reason.empty()) figure += fmt::format(": {}", cell(one.reason));
    out += fmt::format("| {} | {} | {} | {} | {} |\n", level_name(one.level), cell(one.area),
                       cell(one.name), figure, code_cell(one.fix));
  }
  return out;
}

}  // namespace tundish::cli
