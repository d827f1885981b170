#include "data/source/views/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/interruption.h"
#include "data/source/formats/joined.h"
#include "data/source/label_vector.h"
#include "data/source/labels.h"
#include "data/source/views/relabeled.h"

// Must be the last include: it changes how the compiler treats the code below.
#include <xxhash.h>

namespace tundish {
namespace {

using Sources = std::vector<std::shared_ptr<const Source>>;

[[noreturn]] void refuse(const Source& here, const Source& first, const std::string& reason) {
  throw Error(ErrorCode::argument, {.file = here.path()},
              fmt::format("it cannot be merged with {}: {}", printable(first.path()), reason));
}

std::string field_text(const Field& field) {
  std::string out = fmt::format("{} ({})", printable(field.name), field_type_name(field.type));
  if (field.array) out += " " + array_text(*field.array);
  return out;
}

void check_fields(const Source& here, const Source& first) {
  const std::vector<Field>&a = first.schema().fields, &b = here.schema().fields;
  for (std::size_t f = 0; f < std::max(a.size(), b.size()); ++f) {
    if (f < a.size() && f < b.size() && a[f] == b[f]) continue;
    refuse(here, first,
           fmt::format("field {} is {} there and {} here", f,
                       f < a.size() ? field_text(a[f]) : "missing",
                       f < b.size() ? field_text(b[f]) : "missing"));
  }
}

// The classes of all sources, and per source the new number of each class.
struct JoinedClasses {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> numbers;
};

JoinedClasses join_classes(const Sources& sources) {
  JoinedClasses out;
  std::map<std::pair<std::string, std::size_t>, std::int64_t> known;  // by name and count_earlier()
  const Source& first = *sources.front();
  for (const auto& source : sources) {
    const std::vector<std::string>& classes = source->schema().classes;
    if (classes.empty() != first.schema().classes.empty()) {
      refuse(*source, first, "one has names of classes, the other has only numbers");
    }
    if (label_vector_field(source->schema()) >= 0 && classes != first.schema().classes) {
      refuse(*source, first, "labels are vectors with a number per class, and the classes differ");
    }
    std::vector<std::int64_t> numbers;
    const std::vector<std::size_t> earlier = count_earlier(classes);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      const auto [at, is_new] =
          known.try_emplace({classes[c], earlier[c]}, static_cast<std::int64_t>(known.size()));
      if (is_new) out.names.push_back(classes[c]);
      numbers.push_back(at->second);
    }
    out.numbers.push_back(std::move(numbers));
  }
  return out;
}

// A label without a name keeps its number, which must not be the number of another source's class.
void check_unnamed(const Source& here, const Source& first, std::uint64_t i,
                   const std::vector<std::string>& merged) {
  const std::int64_t label = here.info(i).label;
  const std::vector<std::string>& own = here.schema().classes;
  if (merged.empty() || static_cast<std::uint64_t>(label) >= merged.size()) return;
  refuse(here, first,
         fmt::format("the label of {} is {}, its {} classes have no name for it, and after merging "
                     "it would be {}",
                     printable(here.key(i)), label, own.size(),
                     printable(merged[static_cast<std::size_t>(label)])));
}

struct KeyPlace {
  std::uint64_t high = 0, low = 0;  // XXH3-128 of the key
  std::uint64_t part = 0, number = 0;
  auto hash() const { return std::tuple(high, low); }
  auto order() const { return std::tuple(high, low, part, number); }
};

KeyPlace place_of(const std::string& key) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return {hash.high64, hash.low64, 0, 0};
}

// Returns "cat/1-2.jpg" for "cat/1.jpg" and 2.
std::string numbered(const std::string& key, int number) {
  const std::size_t slash = key.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  std::size_t dot = key.rfind('.');
  if (dot == std::string::npos || dot <= name) dot = key.size();
  return fmt::format("{}-{}{}", key.substr(0, dot), number, key.substr(dot));
}

class KeyTable {
 public:
  explicit KeyTable(const Sources& sources) : sources_(sources) {
    for (std::size_t part = 0; part < sources.size(); ++part) {
      for (std::uint64_t i = 0; i < sources[part]->count(); ++i) {
        check_stop(sources[part]->path());
        KeyPlace place = place_of(sources[part]->key(i));
        place.part = part;
        place.number = i;
        places_.push_back(place);
      }
    }
    std::sort(places_.begin(), places_.end(),
              [](const auto& a, const auto& b) { return a.order() < b.order(); });
  }

  // Returns every place whose key occurs earlier, with the first such place; in sample order.
  std::vector<std::pair<KeyPlace, KeyPlace>> repeated() const {
    std::vector<std::pair<KeyPlace, KeyPlace>> out;
    const KeyPlace* first = nullptr;
    for (const KeyPlace& place : places_) {
      if (first && first->hash() == place.hash()) {
        out.emplace_back(place, *first);
      } else {
        first = &place;
      }
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.first.part, a.first.number) < std::tuple(b.first.part, b.first.number);
    });
    return out;
  }

  // Returns a name that no sample has.
  std::string free_name(const std::string& key) {
    for (int number = 2;; ++number) {
      std::string name = numbered(key, number);
      const KeyPlace place = place_of(name);
      const auto found = std::lower_bound(
          places_.begin(), places_.end(), place,
          [](const KeyPlace& a, const KeyPlace& b) { return a.hash() < b.hash(); });
      if (found != places_.end() && found->hash() == place.hash()) continue;
      if (taken_.insert(name).second) return name;
    }
  }

  std::string key(const KeyPlace& place) const { return sources_[place.part]->key(place.number); }

 private:
  const Sources& sources_;
  std::vector<KeyPlace> places_;
  std::set<std::string> taken_;  // new names already used
};

// Returns new names by source and number.
std::vector<std::map<std::uint64_t, std::string>> new_names(Merge& out, const Sources& sources,
                                                            bool rename) {
  std::vector<std::map<std::uint64_t, std::string>> names(sources.size());
  KeyTable keys(sources);
  const auto repeated = keys.repeated();
  if (!repeated.empty() && !rename) {
    const auto& [second, first] = repeated.front();
    throw Error(ErrorCode::argument, {.file = sources[second.part]->path()},
                fmt::format("{} of its keys came before; the first, '{}', is sample {} of {}. "
                            "Rename such samples (--rename), or leave one of them out",
                            with_commas(repeated.size()), printable(keys.key(second)),
                            with_commas(first.number), printable(sources[first.part]->path())));
  }
  for (const auto& [second, first] : repeated) {
    const std::string before = keys.key(second);
    std::string now = keys.free_name(before);
    out.renamed.push_back({static_cast<std::size_t>(second.part), before, now});
    names[second.part][second.number] = std::move(now);
  }
  return names;
}

}  // namespace

Merge merge_sources(const Sources& sources, bool rename) {
  if (sources.empty()) throw Error(ErrorCode::argument, {}, "nothing to merge");
  Schema schema = sources.front()->schema();
  for (const auto& source : sources) {
    check_fields(*source, *sources.front());
    if (source->schema().source != schema.source) schema.source = "merged";
  }
  const JoinedClasses classes = join_classes(sources);
  schema.classes = classes.names;
  Merge out;
  auto names = new_names(out, sources, rename);
  Sources views;
  for (std::size_t part = 0; part < sources.size(); ++part) {
    const Source& source = *sources[part];
    for (std::uint64_t i = 0; i < source.count(); ++i) {
      const std::int64_t label = source.info(i).label;
      const auto place = static_cast<std::size_t>(label);
      if (label < 0) continue;
      if (place >= classes.numbers[part].size()) {
        check_unnamed(source, part == 0 ? *sources.back() : *sources.front(), i, classes.names);
        continue;
      }
      out.relabeled += classes.numbers[part][place] != label;
    }
    views.push_back(relabel(sources[part], schema, classes.numbers[part], std::move(names[part])));
  }
  out.source = join_sources(std::move(views));
  return out;
}

}  // namespace tundish
