#include "data/pack/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "data/pack/metadata.h"
#include "data/pack/output_file.h"
#include "data/source/formats/joined.h"

namespace tundish {
namespace {

using Json = nlohmann::json;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

Fault damaged(std::string reason) {
  return Fault{ErrorCode::manifest_damaged, std::move(reason), 0};
}

// Parses the JSON without building a tree, so that hostile nesting costs no memory.
class Reader : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(Manifest& out) : out_(out) {}
  const std::string& reason() const { return reason_; }

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool binary(binary_t&) override { return other(); }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 1 && key_ == "records") {
      records_ = value;
      return true;
    }
    if (in_shard() && key_ == "records") out_.shards.back().records = value;
    if (in_shard() && key_ == "bytes") out_.shards.back().bytes = value;
    return in_shard() && (key_ == "records" || key_ == "bytes") ? ++known_ : other();
  }
  bool string(string_t& text) override {
    if (depth_ == 1 && key_ == "format") {
      has_format_ = text == kManifestFormat;
      return has_format_ ||
             fail(fmt::format("its format is '{}', not '{}'", printable(text), kManifestFormat));
    }
    if (in_shard() && key_ == "id") out_.shards.back().id = text;
    if (in_shard() && key_ == "name") {
      auto name = unescape_name(text);
      if (!name) return fail("a name has a wrong escape");
      out_.shards.back().name = std::move(*name);
    }
    return in_shard() && (key_ == "id" || key_ == "name") ? ++known_ : other();
  }
  bool start_object(std::size_t) override {
    if (depth_ == 2 && in_list_) {
      out_.shards.emplace_back();
      known_ = 0;
    }
    return enter();
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool end_object() override {
    if (in_shard() && known_ != 4) return fail("a shard has no name, id, bytes or records");
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return fail("it is a list");
    if (depth_ == 1 && key_ == "shards") in_list_ = true;
    return enter();
  }
  bool end_array() override {
    if (--depth_ == 1) in_list_ = false;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(fmt::format("it is no JSON after byte {}", with_commas(at)));
  }

  bool complete() {
    if (!has_format_) return fail("it does not name its format");
    if (!records_) return fail("it does not say how many records there are");
    std::uint64_t sum = 0;
    std::set<std::string_view> names;
    for (const Shard& shard : out_.shards) {
      const bool leaves = shard.name.empty() || shard.name == "." || shard.name == ".." ||
                          shard.name.find('/') != std::string::npos ||
                          shard.name.find('\0') != std::string::npos;
      if (leaves) return fail(fmt::format("'{}' is no file beside it", printable(shard.name)));
      if (!names.insert(shard.name).second) {
        return fail(fmt::format("{} is listed twice", printable(shard.name)));
      }
      if (__builtin_add_overflow(sum, shard.records, &sum)) return fail("too many records");
    }
    if (out_.shards.empty()) return fail("it lists no shard");
    if (sum != *records_) {
      return fail(fmt::format("it has {} records, its shards have {}", with_commas(*records_),
                              with_commas(sum)));
    }
    return true;
  }

 private:
  bool in_shard() const { return in_list_ && depth_ == 3; }
  bool other() {
    const bool ours =
        in_shard() ? key_ == "name" || key_ == "id" || key_ == "bytes" || key_ == "records"
                   : depth_ == 0 || (depth_ == 1 &&
                                     (key_ == "format" || key_ == "records" || key_ == "shards"));
    if (in_list_ && depth_ == 2) return fail("a shard is no object");
    return ours ? fail("a value has the wrong type") : true;
  }
  bool enter() {
    if (depth_ == kMaxDepth) return fail("it is nested too deeply");
    ++depth_;
    return true;
  }
  bool fail(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return false;
  }

  static constexpr int kMaxDepth = 16;
  Manifest& out_;
  std::string key_;  // key of the next value
  int depth_ = 0;    // open objects and arrays
  int known_ = 0;    // values of the open shard so far
  bool in_list_ = false, has_format_ = false;
  std::optional<std::uint64_t> records_;
  std::string reason_;
};

}  // namespace

std::string manifest_json(const Manifest& manifest) {
  std::uint64_t records = 0;
  for (const Shard& shard : manifest.shards) records += shard.records;
  std::string out =
      fmt::format(R"({{"format":"{}","records":{},"shards":[)", kManifestFormat, records);
  for (const Shard& shard : manifest.shards) {
    out += fmt::format("{}\n {{\"bytes\":{},\"id\":\"{}\",\"name\":{},\"records\":{}}}",
                       &shard == &manifest.shards.front() ? "" : ",", shard.bytes, shard.id,
                       json_string(escape_name(shard.name)), shard.records);
  }
  return out += "]}\n";
}

std::optional<Fault> parse_manifest(Manifest& out, std::string_view json) {
  out = {};
  Reader reader(out);
  if (!Json::sax_parse(json, &reader) || !reader.complete()) return damaged(reader.reason());
  return std::nullopt;
}

Manifest read_manifest(const std::string& path) {
  std::vector<std::byte> bytes;
  const File file = File::open(path);
  const std::uint64_t size = file.size();
  if (size > kMaxManifestBytes) throw Error(damaged("it is larger than 64 MiB"), {.file = path});
  bytes.resize(size);
  bytes.resize(file.read_at(bytes, 0));
  Manifest out;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto fault = parse_manifest(out, text)) {
    throw Error(fault->code, {.file = path}, fault->reason);
  }
  return out;
}

void write_manifest(const std::string& path, const Manifest& manifest, bool replace) {
  const std::string text = manifest_json(manifest);
  OutputFile file(path, replace);
  file.write_at(std::as_bytes(std::span(text)), 0);
  file.commit(text.size());
}

Shard describe_shard(const std::string& path) {
  const DiskBytes file(File::open(path));
  std::array<std::byte, kHeadBytes> head_bytes;
  std::array<std::byte, kTailBytes> tail_bytes{};
  Head head;
  Tail tail;
  const auto check = [&](const std::optional<Fault>& fault) {
    if (fault) throw Error(*fault, {.file = path});
  };
  check(decode_head(head, Bytes(head_bytes).first(file.read_at(head_bytes, 0))));
  if (file.size() < kHeadBytes + kTailBytes) {
    check(Fault{ErrorCode::incomplete, "the file is shorter than a head and a tail", 0});
  }
  file.read_at(tail_bytes, file.size() - kTailBytes);
  check(decode_tail(tail, tail_bytes, file.size()));
  const std::size_t slash = path.rfind('/');
  return {.name = slash == std::string::npos ? path : path.substr(slash + 1),
          .records = tail.count,
          .bytes = file.size(),
          .id = hex(head.id)};
}

namespace {

std::shared_ptr<const Pack> open_shard(const std::string& path, const std::string& manifest,
                                       const Shard& shard) {
  try {
    return Pack::open(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::source_missing) throw;
    throw Error(ErrorCode::shard_differs, {.file = path},
                fmt::format("the file does not exist; {} lists it, with {} records",
                            printable(manifest), with_commas(shard.records)));
  }
}

}  // namespace

std::vector<std::shared_ptr<const Pack>> open_shards(const std::string& manifest) {
  std::vector<std::shared_ptr<const Pack>> out;
  for (const Shard& shard : read_manifest(manifest).shards) {
    const std::string path = folder_of(manifest) + shard.name;
    const auto pack = open_shard(path, manifest, shard);
    const auto check = [&](const char* what, const auto& listed, const auto& found) {
      if (listed == found) return;
      throw Error(
          ErrorCode::shard_differs, {.file = path},
          fmt::format("{} lists {} {}, the file has {}", printable(manifest), what, listed, found));
    };
    check("the bytes", shard.bytes, pack->file_bytes());
    check("the records", shard.records, pack->count());
    check("the pack id", shard.id, pack->fingerprint());
    out.push_back(pack);
  }
  return out;
}

std::shared_ptr<const Source> open_manifest(const std::string& path) {
  const auto shards = open_shards(path);
  return join_sources({shards.begin(), shards.end()}, path);
}

}  // namespace tundish
