#include "data/pack/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/interruption.h"
#include "data/pack/reader.h"
#include "data/source/labels.h"
#include "data/source/views/read_samples.h"

// Must be the last include: it changes how the compiler treats the code below.
#include <xxhash.h>

namespace tundish {
namespace {

struct KeyNumber {
  std::uint64_t high = 0, low = 0;  // XXH3-128 of the key
  std::uint64_t number = 0;
  auto hash() const { return std::tuple(high, low); }
  auto order() const { return std::tuple(high, low, number); }
};

std::vector<KeyNumber> sorted_keys(const Source& source) {
  std::vector<KeyNumber> out;
  out.reserve(source.count());
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    check_stop(source.path());
    const std::string key = source.key(i);
    const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
    out.push_back({hash.high64, hash.low64, i});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.order() < b.order(); });
  return out;
}

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Pairs match_keys(SourceDifference& out, const Source& first, const Source& second) {
  const std::vector<KeyNumber> a = sorted_keys(first), b = sorted_keys(second);
  Pairs pairs;
  auto left = a.begin(), right = b.begin();
  while (left != a.end() || right != b.end()) {
    if (right == b.end() || (left != a.end() && left->hash() < right->hash())) {
      out.removed.push_back((left++)->number);
    } else if (left == a.end() || right->hash() < left->hash()) {
      out.added.push_back((right++)->number);
    } else {
      pairs.emplace_back((left++)->number, (right++)->number);
    }
  }
  std::sort(out.removed.begin(), out.removed.end());
  std::sort(out.added.begin(), out.added.end());
  std::sort(pairs.begin(), pairs.end());
  out.same_order = std::is_sorted(pairs.begin(), pairs.end(),
                                  [](const auto& x, const auto& y) { return x.second < y.second; });
  return pairs;
}

void compare_classes(SourceDifference& out, const Schema& first, const Schema& second) {
  const auto missing = [](const Schema& here, const Schema& there) {
    std::vector<std::string> all = there.classes, names;
    std::sort(all.begin(), all.end());
    for (const std::string& name : here.classes) {
      if (!std::binary_search(all.begin(), all.end(), name)) names.push_back(name);
    }
    return names;
  };
  out.classes_removed = missing(first, second);
  out.classes_added = missing(second, first);
}

std::string type_text(const Field& field) {
  return field.array ? fmt::format("{} {}", field_type_name(field.type), array_text(*field.array))
                     : field_type_name(field.type);
}

// Returns the numbers of the stored fields that both schemas have and that can be compared.
Pairs compare_fields(SourceDifference& out, const Schema& first, const Schema& second) {
  Pairs common;
  std::map<std::string, std::size_t> in_second;
  for (std::size_t f = 0; f < second.fields.size(); ++f) in_second[second.fields[f].name] = f;
  for (std::size_t f = 0; f < first.fields.size(); ++f) {
    const Field& field = first.fields[f];
    const auto found = in_second.find(field.name);
    if (found == in_second.end()) {
      out.fields.push_back(
          fmt::format("only the first has field {} ({})", field.name, type_text(field)));
      continue;
    }
    const Field& other = second.fields[found->second];
    if (field != other) {
      out.fields.push_back(fmt::format("field {} is {} in the first, {} in the second", field.name,
                                       type_text(field), type_text(other)));
    } else if (field.type != FieldType::label) {
      common.emplace_back(f, found->second);
    }
    in_second.erase(found);
  }
  for (const Field& field : second.fields) {
    if (!in_second.contains(field.name)) continue;
    out.fields.push_back(
        fmt::format("only the second has field {} ({})", field.name, type_text(field)));
  }
  return common;
}

// Compares labels by the names of their classes. Of equal names, the first is the class of the
// first.
class LabelComparison {
 public:
  LabelComparison(const Source& first, const Source& second) : first_(first), second_(second) {}

  bool same(std::uint64_t i, std::uint64_t j) const {
    const std::int64_t a = first_.source.info(i).label, b = second_.source.info(j).label;
    const std::string* x = first_.name(a);
    const std::string* y = second_.name(b);
    if (!x || !y) return a == b;
    return *x == *y && first_.earlier[static_cast<std::size_t>(a)] ==
                           second_.earlier[static_cast<std::size_t>(b)];
  }

 private:
  struct Side {
    explicit Side(const Source& side)
        : source(side), earlier(count_earlier(side.schema().classes)) {}
    const std::string* name(std::int64_t label) const {
      const auto place = static_cast<std::size_t>(label);
      return label >= 0 && place < earlier.size() ? &source.schema().classes[place] : nullptr;
    }
    const Source& source;
    std::vector<std::size_t> earlier;  // by class
  };
  Side first_, second_;
};

// Compares the fields of all pairs, read from both sources.
class FieldComparison {
 public:
  // Reads `scanned` in order and `other` by number; `pairs` are (scanned, other), ascending.
  FieldComparison(const Source& scanned, const Source& other, const Pairs& pairs,
                  const Pairs& fields)
      : scanned_(scanned), other_(other), pairs_(pairs), fields_(fields), results_(pairs.size()) {}

  struct Result {
    FieldSet differ = 0;  // by index in `fields`
    std::string unreadable = {};
  };

  std::vector<Result> run(int threads,
                          const std::function<void(std::uint64_t, std::uint64_t)>& tell) {
    std::vector<std::uint64_t> numbers;
    for (const auto& pair : pairs_) numbers.push_back(pair.first);
    ReadWork work{
        .fields = wanted(0), .threads = threads, .progress = tell, .visit = {}, .bad = {}};
    work.visit = [&](std::size_t k, std::uint64_t, Sample& sample) { compare(k, sample); };
    work.bad = [&](std::size_t k, std::uint64_t, const SampleError& error) {
      results_[k].unreadable = error.what();
    };
    read_samples(scanned_, numbers, work);
    return std::move(results_);
  }

 private:
  FieldSet wanted(int side) const {
    FieldSet out = 0;
    for (const auto& [a, b] : fields_) out |= FieldSet{1} << (side == 0 ? a : b);
    return out;
  }

  void compare(std::size_t k, const Sample& sample) {
    thread_local Sample there;
    try {
      other_.read_original(there, pairs_[k].second, wanted(1));
    } catch (const SampleError& error) {
      results_[k].unreadable = error.what();
      return;
    }
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (sample.fields[fields_[f].first] != there.fields[fields_[f].second]) {
        results_[k].differ |= FieldSet{1} << f;
      }
    }
  }

  const Source& scanned_;
  const Source& other_;
  const Pairs& pairs_;
  const Pairs& fields_;
  std::vector<Result> results_;  // each written by one thread
};

Pairs swapped(const Pairs& pairs) {
  Pairs out;
  for (const auto& [a, b] : pairs) out.emplace_back(b, a);
  std::sort(out.begin(), out.end());
  return out;
}

using Progress = CompareProgress;

// Compares two packs that have the same id.
SourceDifference compare_checksums(const Pack& first, const Pack& second,
                                   const Progress& progress) {
  SourceDifference out;
  std::map<std::uint64_t, std::string> unreadable;
  const std::uint64_t all_bytes = first.file_bytes() + second.file_bytes();
  std::uint64_t before = 0;
  for (const Pack* pack : {&first, &second}) {
    pack->verify(
        [&](const Error& error) {
          const bool of_sample = error.code() == ErrorCode::record_checksum;
          if (of_sample) unreadable.try_emplace(*error.where().record, error.what());
          if (!of_sample) out.damage.emplace_back(error.what());
        },
        [&](std::uint64_t bytes) {
          const double share = static_cast<double>(before + bytes) / static_cast<double>(all_bytes);
          const auto done = static_cast<std::uint64_t>(share * static_cast<double>(first.count()));
          if (progress) progress(done, first.count());
          return !stop_requested();
        });
    check_stop(pack->path());
    before += pack->file_bytes();
  }
  for (auto& [i, text] : unreadable) {
    out.changed.push_back(
        {.first = i, .second = i, .label = false, .fields = {}, .unreadable = std::move(text)});
  }
  out.same = first.count() - out.changed.size();
  return out;
}

// Reads both samples of each pair and adds differing ones to out.changed. At least one source must
// be readable by number.
void compare_pairs(SourceDifference& out, const Source& first, const Source& second,
                   const Pairs& pairs, int threads, const Progress& progress) {
  const bool turned = first.random_access() && !second.random_access();
  const Pairs fields = compare_fields(out, first.schema(), second.schema());
  const Pairs read_pairs = turned ? swapped(pairs) : pairs;
  const Pairs read_fields = turned ? swapped(fields) : fields;
  auto results =
      FieldComparison(turned ? second : first, turned ? first : second, read_pairs, read_fields)
          .run(threads, progress);
  const LabelComparison labels(first, second);
  for (std::size_t k = 0; k < read_pairs.size(); ++k) {
    const auto [a, b] = read_pairs[k];
    ChangedSample sample{.first = turned ? b : a,
                         .second = turned ? a : b,
                         .label = false,
                         .fields = {},
                         .unreadable = std::move(results[k].unreadable)};
    sample.label = !labels.same(sample.first, sample.second);
    for (std::size_t f = 0; f < read_fields.size(); ++f) {
      if (!(results[k].differ >> f & 1)) continue;
      const std::size_t field = turned ? read_fields[f].second : read_fields[f].first;
      sample.fields.push_back(first.schema().fields[field].name);
    }
    const bool differs = sample.label || !sample.fields.empty() || !sample.unreadable.empty();
    out.same += !differs;
    if (differs) out.changed.push_back(std::move(sample));
  }
  std::sort(out.changed.begin(), out.changed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

void check_readable(const Source& first, const Source& second) {
  if (first.random_access() || second.random_access()) return;
  throw Error(ErrorCode::no_random_access, {.file = second.path()},
              "one of two datasets that are compared must be read by number");
}

}  // namespace

bool SourceDifference::is_damaged() const {
  return !damage.empty() ||
         std::any_of(changed.begin(), changed.end(),
                     [](const ChangedSample& sample) { return !sample.unreadable.empty(); });
}

SourceDifference compare_sources(const Source& first, const Source& second, int threads,
                                 const CompareProgress& progress) {
  const auto* pack = dynamic_cast<const Pack*>(&first);
  const auto* other = dynamic_cast<const Pack*>(&second);
  if (pack && other && pack->id() == other->id()) return compare_checksums(*pack, *other, progress);
  check_readable(first, second);
  SourceDifference out;
  compare_classes(out, first.schema(), second.schema());
  const Pairs pairs = match_keys(out, first, second);
  compare_pairs(out, first, second, pairs, threads, progress);
  return out;
}

SourceDifference compare_by_number(const Source& first, const Source& second,
                                   const std::vector<std::uint64_t>& numbers, int threads,
                                   const CompareProgress& progress) {
  check_readable(first, second);
  Pairs pairs;
  for (const std::uint64_t number : numbers) pairs.emplace_back(number, number);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (const Source* source : {&first, &second}) {
    if (pairs.empty() || pairs.back().first < source->count()) continue;
    throw Error(ErrorCode::argument, {.file = source->path()},
                fmt::format("it has {} samples, and number {} is to be compared",
                            with_commas(source->count()), with_commas(pairs.back().first)));
  }
  SourceDifference out;
  compare_pairs(out, first, second, pairs, threads, progress);
  return out;
}

}  // namespace tundish
