#include "data/source/views/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/interruption.h"
#include "data/source/number.h"
#include "data/source/unknown_count.h"
#include "data/source/views/filter.h"
#include "data/source/views/key_hash.h"
#include "data/source/views/read_samples.h"
#include "data/source/views/selected.h"

namespace tundish {
namespace {

using Numbers = std::vector<std::uint64_t>;

std::vector<FilterClause> clauses_of(const Choice& choice) {
  std::vector<FilterClause> all, some;
  for (const std::string& text : choice.filters) {
    if (const auto fault = parse_filter(some, text)) {
      throw Error(ErrorCode::argument, {},
                  fmt::format("filter '{}', at byte {}: {}", printable(text), fault->offset,
                              fault->reason));
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// A parsed size: "1000" is a count; "10%" is a share.
struct SampleSize {
  std::uint64_t count = 0;
  double share = 0;
};

SampleSize sample_size(const std::string& text) {
  if (text.ends_with('%')) {
    const auto percent = parse_number(std::string_view(text).substr(0, text.size() - 1));
    if (percent && *percent > 0 && *percent <= 100) return {0, *percent / 100};
  } else {
    SampleSize out;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, out.count);
    if (error == std::errc{} && at == end && out.count > 0) return out;
  }
  throw Error(ErrorCode::argument, {},
              fmt::format("subset is a number such as 1000 or a share such as 10%, not '{}'",
                          printable(text)));
}

void filter(Numbers& numbers, const Source& source, const std::vector<FilterClause>& clauses,
            int threads, const ChoiceProgress& progress) {
  const SampleFilter filter(clauses, source);
  std::vector<char> takes(numbers.size(), 0);  // not vector<bool>: threads write neighbors
  Numbers to_read;
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    check_stop(source.path());
    if (filter.needs(source, numbers[k])) {
      to_read.push_back(numbers[k]);
      places.push_back(k);
    } else {
      takes[k] = filter.takes(source, numbers[k], nullptr);
    }
  }
  ReadWork work{
      .fields = filter.needs(), .threads = threads, .progress = {}, .visit = {}, .bad = {}};
  if (progress) {
    work.progress = [&](std::uint64_t done, std::uint64_t all) { progress("filter", done, all); };
  }
  work.visit = [&](std::size_t k, std::uint64_t i, Sample& sample) {
    takes[places[k]] = filter.takes(source, i, &sample);
  };
  // Keeps a bad sample: a later read, as in packing, reports its fault.
  work.bad = [&](std::size_t k, std::uint64_t, const SampleError&) { takes[places[k]] = 1; };
  read_samples(source, to_read, work);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (takes[k]) numbers[kept++] = numbers[k];
  }
  numbers.resize(kept);
}

void drop(Numbers& numbers, const std::vector<Duplicate>& duplicates) {
  auto next = duplicates.begin();  // both ascend
  std::erase_if(numbers, [&](std::uint64_t i) {
    while (next != duplicates.end() && next->sample < i) ++next;
    return next != duplicates.end() && next->sample == i;
  });
}

void sample(Numbers& numbers, const Source& source, const SampleSize& size, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> drawn;  // hash, number
  const std::uint64_t below = share_of_hashes(size.share);
  for (const std::uint64_t i : numbers) {
    check_stop(source.path());
    const std::uint64_t hash = key_hash("sample", seed, source.key(i));
    if (size.count > 0 || hash < below || size.share >= 1) drawn.emplace_back(hash, i);
  }
  if (size.count > 0 && size.count < drawn.size()) {
    std::nth_element(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(size.count),
                     drawn.end());
    drawn.resize(size.count);
  }
  numbers.clear();
  for (const auto& [hash, i] : drawn) numbers.push_back(i);
  std::sort(numbers.begin(), numbers.end());
}

}  // namespace

std::string Choice::text() const {
  std::string out;
  for (const std::string& filter : filters) out += fmt::format("filter={} ", filter);
  if (duplicates == Duplicates::drop) out += "duplicates=drop ";
  if (!subset.empty()) out += fmt::format("subset={} seed={} ", subset, seed);
  if (limit > 0) out += fmt::format("samples={} ", limit);
  if (!out.empty()) out.pop_back();
  return out;
}

void check_choice(const Choice& choice) {
  clauses_of(choice);
  if (!choice.subset.empty()) sample_size(choice.subset);
}

Chosen choose(std::shared_ptr<const Source> source, const Choice& choice, int threads,
              const ChoiceProgress& progress) {
  Chosen out{
      .source = source, .of = source->count(), .filtered = source->count(), .duplicates = {}};
  if (choice.is_all()) return out;
  if (!count_known(*source)) {
    throw Error(
        ErrorCode::argument, {.file = source->path()},
        "filter, duplicates, subset and samples choose from a dataset that has a length, and "
        "this one can only be iterated: pack all of it, then choose from that pack");
  }
  Numbers numbers(source->count());
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  const std::vector<FilterClause> clauses = clauses_of(choice);
  if (!clauses.empty()) filter(numbers, *source, clauses, threads, progress);
  out.filtered = numbers.size();
  if (choice.duplicates != Duplicates::keep) {
    std::function<void(std::uint64_t, std::uint64_t)> tell;
    if (progress) {
      tell = [&](std::uint64_t done, std::uint64_t all) { progress("duplicates", done, all); };
    }
    out.duplicates = find_duplicates(*source, numbers, threads, tell);
    if (choice.duplicates == Duplicates::drop) drop(numbers, out.duplicates);
  }
  if (!choice.subset.empty()) sample(numbers, *source, sample_size(choice.subset), choice.seed);
  if (choice.limit > 0 && choice.limit < numbers.size()) numbers.resize(choice.limit);
  if (numbers.empty()) {
    throw Error(ErrorCode::nothing_chosen, {.file = source->path()},
                fmt::format("none of {} samples is chosen by {}", with_commas(out.of),
                            printable(choice.text())));
  }
  if (numbers.size() != source->count()) {
    out.source = select_samples(std::move(source), std::move(numbers));
  }
  return out;
}

}  // namespace tundish
