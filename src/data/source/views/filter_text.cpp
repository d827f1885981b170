// Parses the text of a filter into clauses.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "data/source/names.h"
#include "data/source/views/filter.h"

namespace tundish {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kAnd = " and ", kOr = " or ";

// Longer operators precede their prefixes.
constexpr std::array<std::pair<std::string_view, Comparison>, 9> kComparisons = {
    {{"!=", Comparison::unequal},
     {"!~", Comparison::differs},
     {"<=", Comparison::at_most},
     {">=", Comparison::at_least},
     {"==", Comparison::equal},
     {"=", Comparison::equal},
     {"~", Comparison::matches},
     {"<", Comparison::less},
     {">", Comparison::more}}};

class FilterParser {
 public:
  explicit FilterParser(std::string_view text) : text_(text) {}

  std::optional<Fault> parse(std::vector<FilterClause>& out) {
    do {
      FilterClause clause;
      if (auto fault = name(clause)) return fault;
      if (auto fault = comparison(clause)) return fault;
      if (auto fault = value(clause)) return fault;
      out.push_back(std::move(clause));
    } while (at_ < text_.size());
    return std::nullopt;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  Fault wrong(std::string reason) const {
    return Fault{ErrorCode::argument, std::move(reason), at_};
  }

  std::optional<Fault> name(FilterClause& clause) {
    skip_blanks();
    const std::size_t end = std::min(rest().find_first_of("=!~<>"), rest().size());
    const std::string_view name = trim(rest().substr(0, end), kBlanks);
    if (end == rest().size()) {
      return wrong(name.empty() ? "a clause such as label=cat is missing"
                                : fmt::format("'{}' is not compared with anything; a clause looks "
                                              "like label=cat, width>=64 or key~*.png",
                                              printable(std::string(name))));
    }
    if (name.empty()) return wrong("the name before the comparison is missing, as in label=cat");
    clause.name = name;
    at_ += end;
    return std::nullopt;
  }

  std::optional<Fault> comparison(FilterClause& clause) {
    for (const auto& [sign, comparison] : kComparisons) {
      if (!rest().starts_with(sign)) continue;
      clause.comparison = comparison;
      at_ += sign.size();
      return std::nullopt;
    }
    return wrong("a comparison is one of = != ~ !~ < <= > >=");
  }

  std::optional<Fault> value(FilterClause& clause) {
    skip_blanks();
    if (!rest().empty() && (rest()[0] == '"' || rest()[0] == '\'')) return quoted(clause);
    std::size_t end = rest().find(kAnd);
    const bool more = end != std::string_view::npos;
    if (!more) end = rest().size();
    const std::string_view value = trim(rest().substr(0, end), kBlanks);
    if (value.empty() || value == "and" || value.starts_with("and ")) {
      return wrong(fmt::format("the value of '{}' is missing; an empty one is \"\"",
                               printable(clause.name)));
    }
    if (const std::size_t place = value.find(kOr); place != std::string_view::npos) {
      at_ += place;
      return wrong("there is no 'or'; put a value that holds the word between quotes");
    }
    if (value.ends_with(" and")) {
      return wrong("after 'and' a clause such as label=cat is missing");
    }
    clause.value = value;
    at_ += end + (more ? kAnd.size() : 0);
    return more && trim(rest(), kBlanks).empty()
               ? std::optional(wrong("after 'and' a clause such as label=cat is missing"))
               : std::nullopt;
  }

  std::optional<Fault> quoted(FilterClause& clause) {
    const std::size_t end = rest().find(rest()[0], 1);
    if (end == std::string_view::npos) return wrong("a quote does not end");
    clause.value = rest().substr(1, end - 1);
    at_ += end + 1;
    const std::size_t before = at_;
    skip_blanks();
    if (at_ == text_.size()) return std::nullopt;
    at_ = before;
    if (!rest().starts_with(kAnd)) return wrong("after a quoted value only 'and' may follow");
    at_ += kAnd.size();
    return trim(rest(), kBlanks).empty()
               ? std::optional(wrong("after 'and' a clause such as label=cat is missing"))
               : std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Fault> parse_filter(std::vector<FilterClause>& out, std::string_view text) {
  out.clear();
  return FilterParser(text).parse(out);
}

}  // namespace tundish
