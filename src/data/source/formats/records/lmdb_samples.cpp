#include "data/source/formats/records/lmdb_samples.h"

#include <fmt/format.h>

#include <unordered_map>

#include "data/source/format.h"
#include "data/source/formats/records/pickled_pair.h"
#include "data/source/pickle/pickle_arrays.h"

namespace tundish {
namespace {

constexpr std::size_t kMaxListed = 2'000'000;        // names in __keys__
constexpr std::uint32_t kMaxListBytes = 256u << 20;  // limit of the size of __keys__

bool is_bookkeeping(std::string_view key) {
  return key.size() > 4 && key.starts_with("__") && key.ends_with("__");
}

std::optional<std::size_t> find_key(const LmdbValues& values, std::string_view key) {
  for (std::size_t i = 0; i < values.keys.size(); ++i) {
    if (values.keys[i] == key) return i;
  }
  return std::nullopt;
}

// Tests whether the last byte is the opcode STOP. Pickles of protocols 0 and 1 have no head.
bool ends_pickle(Bytes value) { return !value.empty() && value.back() == std::byte{'.'}; }

// A value about the dataset. `done` is false if it is no pickle, or longer than the limit.
struct About {
  std::vector<std::byte> bytes;
  Pickle pickle;
  bool done = false;

  std::optional<Fault> read(const LmdbValues& values, std::size_t i, const ReadValue& read) {
    if (values.sizes[i] > kMaxListBytes) return std::nullopt;
    read(bytes, i);
    const bool has_head = starts_pickle(bytes);
    if (!has_head && !ends_pickle(bytes)) return std::nullopt;
    auto fault = pickle.read(bytes, "LMDB");
    if (!has_head && (fault || pickle.end() != bytes.size())) return std::nullopt;
    done = true;
    if (fault) fault->offset += values.offsets[i];
    return fault;
  }
};

std::optional<Fault> follow_list(LmdbSamples& out, const LmdbValues& values, const Pickle& pickle) {
  std::unordered_map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < values.keys.size(); ++i) numbers.emplace(values.keys[i], i);
  std::vector<bool> used(values.keys.size());
  for (const PickleValue& item : pickle.items(pickle.root())) {
    const auto found = numbers.find(pickle.text(item));
    const bool is_key = item.is(PickleKind::bytes) || item.is(PickleKind::text);
    const char* wrong = !is_key                        ? "something that is not a key"
                        : found == numbers.end()       ? "a key that the file does not have"
                        : used[found->second]          ? "a key twice"
                        : is_bookkeeping(found->first) ? "a key that is no sample"
                                                       : nullptr;
    if (wrong) {
      return damaged_source("LMDB",
                            fmt::format("__keys__ lists {}: '{}'", wrong,
                                        printable(std::string(pickle.text(item).substr(0, 100)))),
                            0);
    }
    used[found->second] = true;
    out.order.push_back(found->second);
  }
  return std::nullopt;
}

// Offsets in faults include the offset of the list in the file.
std::optional<Fault> take_listed(LmdbSamples& out, const LmdbValues& values, std::size_t list,
                                 std::size_t samples, const ReadValue& read) {
  About about;
  if (samples <= kMaxListed) {
    if (auto fault = about.read(values, list, read)) return fault;
  }
  const PickleValue& root = about.pickle.root();
  const bool is_list = root.is(PickleKind::list) || root.is(PickleKind::tuple);
  if (!about.done || !is_list || about.pickle.items(root).empty()) {
    out.note = "its samples are in the order of the file: __keys__ is no pickled list that is read";
    return std::nullopt;
  }
  if (auto fault = follow_list(out, values, about.pickle)) {
    fault->offset += values.offsets[list];
    return fault;
  }
  if (out.order.size() < samples) {
    const std::size_t left = samples - out.order.size();
    out.note = left == 1 ? "1 value is left out: __keys__ does not list it"
                         : fmt::format("{} values are left out: __keys__ does not list them",
                                       with_commas(left));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fault> choose_lmdb_samples(LmdbSamples& out, const LmdbValues& values,
                                         const ReadValue& read) {
  out = {};
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < values.keys.size(); ++i) {
    if (!is_bookkeeping(values.keys[i])) all.push_back(i);
  }
  const auto list = find_key(values, "__keys__"), length = find_key(values, "__len__");
  if (list) {
    if (auto fault = take_listed(out, values, *list, all.size(), read)) return fault;
  }
  if (out.order.empty()) out.order = std::move(all);
  if (!length || !out.note.empty()) return std::nullopt;
  About about;
  if (auto fault = about.read(values, *length, read)) return fault;
  const auto number = about.done ? read_integer(about.pickle, about.pickle.root()) : std::nullopt;
  if (number && *number != static_cast<std::int64_t>(out.order.size())) {
    out.note =
        fmt::format("__len__ is {}, but it has {} samples", *number, with_commas(out.order.size()));
  }
  return std::nullopt;
}

}  // namespace tundish
