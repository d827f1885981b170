#include "data/pack/copy/copy_record.h"

#include <algorithm>
#include <map>

#include "base/interruption.h"
#include "data/pack/stored_records.h"
#include "data/pack/write/prepare.h"

namespace tundish {

bool RecordCopier::has_our_tables(const lanes::Tables* theirs) {
  if (!tables_ || !theirs) return false;
  if (theirs != compared_) {
    are_equal_ = lanes::encode_tables(*theirs) == lanes::encode_tables(*tables_);
    compared_ = theirs;
  }
  return are_equal_;
}

bool RecordCopier::copy(Prepared& out, const Source& source) {
  std::uint64_t number = out.number;
  const Source& part = source.part(number);
  const auto* records = dynamic_cast<const StoredRecords*>(&part);
  if (!records) return false;
  const SampleInfo info = part.info(number);
  if (info.codec == Codec::lanes && !has_our_tables(part.tables(number))) return false;
  records->read_stored(out.sample, out.restore, number);
  out.info = info;
  out.info.label = source.info(out.number).label;  // a view may have changed the label
  out.key = source.key(out.number);
  out.copied = true;
  const Schema& schema = source.schema();
  if (const int image = schema.find(FieldType::image); image >= 0 && info.codec == Codec::lanes) {
    out.jpeg_bytes = out.sample.fields[static_cast<std::size_t>(image)].size() + out.restore.size();
  }
  finish_sample(out, schema);
  return true;
}

std::shared_ptr<const lanes::Tables> most_used_tables(const Source& source) {
  struct Use {
    std::uint64_t records = 0, first = 0;
  };
  std::map<const lanes::Tables*, Use> uses;
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    if (i % 4096 == 0) check_stop(source.path());
    if (source.info(i).codec != Codec::lanes) continue;
    const auto [use, is_new] = uses.try_emplace(source.tables(i));
    if (is_new) use->second.first = i;
    ++use->second.records;
  }
  std::map<std::string, Use> by_bytes;  // packs of one dataset have equal tables
  for (const auto& [tables, use] : uses) {
    if (!tables) continue;
    const std::vector<std::byte> bytes = lanes::compress_tables(*tables);
    const auto [sum, is_new] = by_bytes.try_emplace(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), use);
    if (is_new) continue;
    sum->second.records += use.records;
    sum->second.first = std::min(sum->second.first, use.first);
  }
  if (by_bytes.empty()) return nullptr;
  const auto best =
      std::max_element(by_bytes.begin(), by_bytes.end(), [](const auto& a, const auto& b) {
        if (a.second.records != b.second.records) return a.second.records < b.second.records;
        return a.second.first > b.second.first;
      });
  auto out = std::make_shared<lanes::Tables>();
  if (const auto fault = lanes::expand_tables(*out, std::as_bytes(std::span(best->first)))) {
    throw Error(*fault, {.file = source.path()});
  }
  return out;
}

bool is_all_records(const Source& source) {
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    std::uint64_t number = i;
    if (!dynamic_cast<const StoredRecords*>(&source.part(number))) return false;
  }
  return true;
}

}  // namespace tundish
