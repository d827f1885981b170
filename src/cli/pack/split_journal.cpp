#include "cli/pack/split_journal.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "data/pack/manifest.h"
#include "data/pack/reader.h"

namespace tundish::cli {
namespace {

constexpr std::uint8_t kStart = 1, kPart = 2;  // first byte of a block

std::string target_of(const std::string& prefix) { return prefix + ".split-parts"; }

bool is_there(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

void put_refusals(WireWriter& out, const std::vector<Refusal>& refusals) {
  out.word(std::uint64_t{refusals.size()});
  for (const Refusal& refusal : refusals) {
    out.word(refusal.sample);
    out.text(refusal.key);
    out.word(static_cast<std::uint32_t>(refusal.code));
    out.text(refusal.text);
  }
}

bool take_refusals(std::vector<Refusal>& out, WireReader& in) {
  const auto count = in.word<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) {
    Refusal refusal{.sample = in.word<std::uint64_t>(), .key = {}, .code = {}, .text = {}};
    refusal.key = in.text();
    refusal.code = static_cast<ErrorCode>(in.word<std::uint32_t>());
    refusal.text = in.text();
    if (!find_error(refusal.code)) return false;
    out.push_back(std::move(refusal));
  }
  return !in.failed();
}

// Encodes what split prints about a part.
std::vector<std::byte> encode_part(std::uint64_t part, const PackReport& report) {
  WireWriter out;
  out.word(kPart);
  out.text(report.id);
  for (const std::uint64_t number : {part, report.samples, report.copied, report.file_bytes}) {
    out.word(number);
  }
  put_refusals(out, report.refused);
  put_refusals(out, report.doubtful);
  return out.bytes();
}

bool decode_part(std::uint64_t& part, PackReport& out, Bytes payload) {
  WireReader in(payload);
  if (in.word<std::uint8_t>() != kPart) return false;
  out.id = in.text();
  for (std::uint64_t* number : {&part, &out.samples, &out.copied, &out.file_bytes}) {
    *number = in.word<std::uint64_t>();
  }
  return take_refusals(out.refused, in) && take_refusals(out.doubtful, in) && in.rest().empty();
}

}  // namespace

SplitJournal::SplitJournal(const std::string& prefix, bool resume)
    : target_(target_of(prefix), true), journal_(target_, resume) {}

SplitJournal::~SplitJournal() {
  const bool useless =
      !outputs_.empty() && std::none_of(outputs_.begin(), outputs_.end(), is_there);
  if (useless || journal_.is_blank()) journal_.remove();
}

bool SplitJournal::exists(const std::string& prefix) {
  try {
    const OutputTarget target(target_of(prefix), true);
    return is_there(target.beside(target.hidden_name("journal")));
  } catch (const Error&) {
    return false;  // no such folder: packing reports that error
  }
}

bool SplitJournal::take_start(const PackIdentity& identity, std::string& why_not) {
  std::vector<std::byte> payload;
  if (!journal_.next(payload)) return false;
  WireReader in(payload);
  const bool is_start = in.word<std::uint8_t>() == kStart;
  const auto before = is_start ? decode_identity(in) : std::nullopt;
  const Bytes existed = in.raw(outputs_.size());
  why_not = !before || in.failed() ? "its journal is damaged" : first_difference(*before, identity);
  if (!why_not.empty()) return false;
  for (std::size_t p = 0; p < existed.size(); ++p) existed_[p] = existed[p] != std::byte{0};
  for (;;) {
    std::uint64_t part = 0;
    PackReport report;
    if (!journal_.next(payload)) return true;
    if (!decode_part(part, report, payload) || part >= reports_.size()) continue;
    reports_[part] = std::move(report);
  }
}

void SplitJournal::begin(const PackIdentity& identity, const std::vector<std::string>& outputs) {
  outputs_ = outputs;
  existed_.assign(outputs.size(), 0);
  reports_.assign(outputs.size(), std::nullopt);
  std::string why_not;
  if (take_start(identity, why_not)) return;
  const auto found = std::find_if(outputs.begin(), outputs.end(), is_there);
  if (!why_not.empty() && found != outputs.end()) {
    throw Error(ErrorCode::output_exists, {.file = *found},
                "an interrupted split left it and cannot go on: " + why_not);
  }
  journal_.rewind({});
  WireWriter out;
  out.word(kStart);
  encode_identity(out, identity);
  for (const std::string& output : outputs) out.word(static_cast<std::uint8_t>(is_there(output)));
  journal_.append(out.bytes());
  journal_.sync();
}

std::optional<PackReport> SplitJournal::finished(std::size_t part) const {
  if (!reports_[part]) return std::nullopt;
  try {
    const Shard found = describe_shard(outputs_[part]);
    const PackReport& report = *reports_[part];
    const bool same = found.bytes == report.file_bytes && found.records == report.samples &&
                      found.id == report.id;
    return same ? reports_[part] : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // the part was removed or replaced
  }
}

bool SplitJournal::is_own(std::size_t part, const Source& samples) const {
  if (existed_[part] || reports_[part]) return false;
  try {
    const auto pack = Pack::open(outputs_[part]);
    const Schema &here = pack->schema(), &wanted = samples.schema();
    if (here.fields != wanted.fields || here.classes != wanted.classes) return false;
    std::uint64_t next = 0;  // refused samples are missing from the pack
    for (std::uint64_t i = 0; i < pack->count(); ++i) {
      const std::string key = pack->key(i);
      while (next < samples.count() && samples.key(next) != key) ++next;
      if (next++ >= samples.count()) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

void SplitJournal::add(std::size_t part, const PackReport& report) {
  journal_.append(encode_part(part, report));
  journal_.sync();
}

void SplitJournal::remove() { journal_.remove(); }

}  // namespace tundish::cli
