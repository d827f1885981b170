#include "data/source/formats/records/tfrecord_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/file.h"
#include "data/source/decompress.h"
#include "data/source/folder_entries.h"
#include "data/source/format.h"
#include "data/source/formats/records/tfrecord_reader.h"
#include "data/source/names.h"
#include "data/source/number.h"

namespace tundish {
namespace {

bool is_note(const std::string& name) {
  if (name.starts_with('.')) return true;
  for (const char* ending : {".json", ".txt", ".md", ".pbtxt"}) {
    if (lower(name).ends_with(ending)) return true;
  }
  return false;
}

// "train" and "00010" from "train-00003-of-00010"; empty for names of another form.
struct ShardName {
  std::string set, count;
  std::uint64_t shards = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

ShardName parse_shard_name(const std::string& name) {
  const std::size_t of = name.find("-of-");
  if (of == name.npos || of == 0) return {};
  const std::size_t dash = name.rfind('-', of - 1);
  if (dash == name.npos) return {};
  ShardName out{.set = name.substr(0, dash), .count = ""};
  for (const char c : name.substr(of + 4, 9)) {
    if (!is_digit(c)) break;
    out.count += c;
    out.shards = out.shards * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return out;
}

// Returns the pattern of a set: "train-*-of-00010". Other names keep all but their numbers:
// "train*-*.tfrec" for "train07-2071.tfrec".
std::string set_of(const std::string& name) {
  const ShardName shard = parse_shard_name(name);
  if (shard.shards > 0) return shard.set + "-*-of-" + shard.count;
  std::string out;
  for (const char c : name) {
    if (!is_digit(c)) {
      out += c;
    } else if (!out.ends_with('*')) {
      out += '*';
    }
  }
  return out;
}

// Calls visit(name, size) for all files except notes, until visit() returns false. Returns false
// then, and for a folder inside.
template <class Visit>
bool visit_files(const std::string& path, Visit&& visit) {
  bool all = true;
  const int error = visit_folder(path, [&](const FolderEntry& entry) {
    if (is_note(entry.name)) return true;
    return all = entry.is_file && visit(entry.name, entry.bytes);
  });
  return all && error == 0;
}

}  // namespace

bool is_tfrecord_file(const std::string& path) {
  try {
    const File file = File::open(path);
    FileStream stream(file);
    std::array<std::byte, 16> first;
    const Bytes got = Bytes(first).first(file.read_at(first, 0));
    const Compression compression = sniff_compression(got);
    if (compression == Compression::none) return starts_tfrecord(got);
    std::array<std::byte, kTfRecordHead> head;
    const auto unpacked = decompress(stream, compression, path);
    return starts_tfrecord(Bytes(head).first(unpacked->read(head)));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw;
    return false;
  }
}

bool is_tfrecord_folder(const std::string& path) {
  std::size_t found = 0;
  const bool all = visit_files(path, [&](const std::string& name, std::uint64_t size) {
    if (size == 0) return lower(name).find("tfrecord") != name.npos;
    const bool fits = is_tfrecord_file(join_path(path, name));
    found += fits;
    return fits;
  });
  return all && found > 0;
}

std::vector<std::string> warnings_of_missing(const std::string& path,
                                             std::span<const std::string> files) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sets;  // expected, found
  for (const std::string& file : files) {
    const std::string name = file.substr(file.rfind('/') + 1);
    const ShardName shard = parse_shard_name(name);
    if (shard.shards == 0) continue;
    auto& [expected, found] = sets[set_of(name)];
    expected = shard.shards;
    ++found;
  }
  std::vector<std::string> out;
  for (const auto& [set, counts] : sets) {
    if (counts.second >= counts.first) continue;
    out.push_back(fmt::format("{}: {} of the {} files of {} exist", printable(path), counts.second,
                              counts.first, printable(set)));
  }
  return out;
}

void refuse_several_counts(const std::string& path, std::span<const std::string> files) {
  std::map<std::string, ShardName> sets;  // by folder and name
  for (const std::string& file : files) {
    const std::size_t leaf = file.rfind('/') + 1;  // npos + 1 == 0
    const ShardName shard = parse_shard_name(file.substr(leaf));
    if (shard.shards == 0) continue;
    const auto [first, is_new] = sets.try_emplace(file.substr(0, leaf) + shard.set, shard);
    if (is_new || first->second.count == shard.count) continue;
    throw Error(
        unsupported_source(
            "TFRecord",
            fmt::format("the pattern takes two sets of {}, -of-{} and -of-{}, of which one may be "
                        "out of date; say which by a pattern, such as '{}-*-of-{}'",
                        printable(shard.set), first->second.count, shard.count,
                        printable(first->first), shard.count)),
        {.file = path});
  }
}

TfRecordFolder list_tfrecords(const std::string& path) {
  TfRecordFolder out;
  std::vector<std::string> all;  // includes files without a record
  std::set<std::string> sets;
  visit_files(path, [&](const std::string& name, std::uint64_t size) {
    sets.insert(set_of(name));
    all.push_back(name);
    if (size > 0) out.names.push_back(name);
    return true;
  });
  std::sort(out.names.begin(), out.names.end(), name_before);
  if (sets.size() > 1) {
    throw Error(
        unsupported_source(
            "TFRecord",
            fmt::format("the folder holds several sets ({}); say which by a pattern, such as '{}*'",
                        printable(fmt::format("{}", fmt::join(sets, ", "))),
                        printable(join_path(path, *sets.begin())))),
        {.file = path});
  }
  out.warnings = warnings_of_missing(path, all);
  return out;
}

}  // namespace tundish
