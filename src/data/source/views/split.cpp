#include "data/source/views/split.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/interruption.h"
#include "data/source/number.h"
#include "data/source/views/key_hash.h"

namespace tundish {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::argument, {}, reason + "; parts look like train=0.9,val=0.1");
}

bool is_plain_name(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name[0] != '.' && name[0] != '-' && name.size() <= 100 &&
         name.find_first_not_of(kPlain) == std::string_view::npos;
}

SplitPart parse_part(std::string_view text) {
  const std::string shown = printable(std::string(text));
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse(fmt::format("'{}' is no part", shown));
  SplitPart out{std::string(text.substr(0, equals)), 0};
  if (!is_plain_name(out.name)) {
    refuse(fmt::format("'{}' cannot be part of a file's name: letters, digits, _ . -",
                       printable(out.name)));
  }
  std::string_view number = text.substr(equals + 1);
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  const auto share = parse_number(number);
  if (!share || *share <= 0) refuse(fmt::format("the share of '{}' is no number above 0", shown));
  out.share = percent ? *share / 100 : *share;
  return out;
}

}  // namespace

std::vector<SplitPart> parse_split(std::string_view text) {
  std::vector<SplitPart> out;
  std::set<std::string> names;
  double sum = 0;
  for (;;) {
    const std::size_t comma = text.find(',');
    out.push_back(parse_part(text.substr(0, comma)));
    if (!names.insert(out.back().name).second) {
      refuse(fmt::format("two parts are called '{}'", out.back().name));
    }
    sum += out.back().share;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (out.size() < 2) refuse("one part is no split");
  if (std::abs(sum - 1) > 1e-9) refuse(fmt::format("the shares add up to {:.6g}, not to 1", sum));
  return out;
}

std::size_t part_of_key(const std::vector<SplitPart>& parts, std::uint64_t seed,
                        std::string_view key) {
  const std::uint64_t hash = key_hash("split", seed, key);
  double end = 0;
  for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
    end += parts[part].share;
    if (hash < share_of_hashes(end)) return part;
  }
  return parts.size() - 1;
}

std::vector<std::vector<std::uint64_t>> split_numbers(const Source& source,
                                                      const std::vector<SplitPart>& parts,
                                                      std::uint64_t seed) {
  std::vector<std::vector<std::uint64_t>> out(parts.size());
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    check_stop(source.path());
    out[part_of_key(parts, seed, source.key(i))].push_back(i);
  }
  return out;
}

}  // namespace tundish
