#include "data/source/formats/joined.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/source/disk_cache/file_times.h"
#include "data/source/read_memory.h"

namespace tundish {
namespace {

class Joined : public Source, public ReadMemory, public FileTimes {
 public:
  Joined(std::vector<std::shared_ptr<const Source>> sources, std::string path)
      : sources_(std::move(sources)), path_(std::move(path)) {
    for (const auto& source : sources_) {
      begins_.push_back(count_);
      count_ += source->count();
      warnings_.insert(warnings_.end(), source->warnings().begin(), source->warnings().end());
    }
  }

  std::uint64_t count() const override { return count_; }
  const Schema& schema() const override { return sources_.front()->schema(); }
  SampleInfo info(std::uint64_t i) const override { return at(i)->info(local(i)); }
  std::string key(std::uint64_t i) const override { return at(i)->key(local(i)); }
  std::string path() const override {
    if (!path_.empty()) return path_;
    std::string all;
    for (const auto& source : sources_) all += (all.empty() ? "" : " + ") + source->path();
    return all;
  }
  Where where(std::uint64_t i) const override { return at(i)->where(local(i)); }
  const Source& part(std::uint64_t& i) const override {
    const Source* holder = at(i);
    i = local(i);
    return holder->part(i);
  }
  std::uint64_t bytes(std::uint64_t i) const override { return at(i)->bytes(local(i)); }
  std::uint64_t memory() const override {
    std::uint64_t sum = 0;
    for (const auto& source : sources_) sum += source->memory();
    return sum;
  }
  std::uint64_t memory_while_reading() const override {
    std::uint64_t most = 0;
    for (const auto& source : sources_)
      most = std::max(most, tundish::memory_while_reading(*source));
    return most;
  }
  void keep_at_most(std::uint64_t bytes) const override {
    for (const auto& source : sources_) tundish::keep_at_most(*source, bytes / sources_.size());
  }
  bool sizes_known() const override {
    return std::all_of(sources_.begin(), sources_.end(),
                       [](const auto& source) { return source->sizes_known(); });
  }
  bool labels_known() const override {
    return std::all_of(sources_.begin(), sources_.end(),
                       [](const auto& source) { return source->labels_known(); });
  }
  bool random_access() const override {
    return std::all_of(sources_.begin(), sources_.end(),
                       [](const auto& source) { return source->random_access(); });
  }
  bool extent(std::uint64_t i, int field, Extent& out) const override {
    return at(i)->extent(local(i), field, out);
  }
  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    at(i)->read(out, local(i), fields);
  }
  using Source::read_original;
  void read_original(Sample& out, std::uint64_t i, FieldSet fields,
                     const Limits& limits) const override {
    at(i)->read_original(out, local(i), fields, limits);
  }
  void scan(const SampleSink& sink, const BadSink& bad) const override {
    bool more = true;
    for (std::size_t s = 0; s < sources_.size() && more; ++s) {
      const std::uint64_t begin = begins_[s];
      const auto good = [&](std::uint64_t i, Sample& sample) {
        return more = sink(begin + i, sample);
      };
      const auto worse = [&](std::uint64_t i, const SampleError& error) {
        return more = bad(begin + i, error);
      };
      sources_[s]->scan(good, bad ? BadSink(worse) : BadSink());
    }
  }
  const lanes::Tables* tables(std::uint64_t i) const override { return at(i)->tables(local(i)); }
  std::string fingerprint() const override {
    std::string all = "joined";
    for (const auto& source : sources_) all += ' ' + source->fingerprint();
    return all;
  }
  std::string file_times() const override {
    std::string all;
    for (const auto& source : sources_) all += tundish::file_times(*source) + ' ';
    return all;
  }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  std::size_t number(std::uint64_t i) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), i);
    return static_cast<std::size_t>(after - begins_.begin()) - 1;
  }
  const Source* at(std::uint64_t i) const { return sources_[number(i)].get(); }
  std::uint64_t local(std::uint64_t i) const { return i - begins_[number(i)]; }

  std::vector<std::shared_ptr<const Source>> sources_;  // second owner: the caller that opened them
  std::string path_;                                    // empty: the paths of the sources
  std::vector<std::uint64_t> begins_;                   // per source, number of its first sample
  std::uint64_t count_ = 0;
  std::vector<std::string> warnings_;
};

// Describes how the second list differs from the first; empty if equal.
std::string difference(const char* what, const std::vector<std::string>& first,
                       const std::vector<std::string>& second) {
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size() && i < second.size() && first[i] == second[i]) continue;
    const auto name = [&](const std::vector<std::string>& list) {
      return i < list.size() ? fmt::format("'{}'", printable(list[i])) : std::string("missing");
    };
    return fmt::format("{} {} is {} in the first and {} here ({} and {} of them)", what, i,
                       name(first), name(second), first.size(), second.size());
  }
  return {};
}

// Includes types: elements of one source would otherwise be read with the type of another.
std::vector<std::string> field_texts(const Schema& schema) {
  std::vector<std::string> names;
  for (const Field& field : schema.fields) {
    std::string type = field_type_name(field.type);
    if (field.array) type += " of " + array_text(*field.array);
    if (field.channels_first) type += ", channels first";
    names.push_back(fmt::format("{} ({})", field.name, type));
  }
  return names;
}

}  // namespace

std::shared_ptr<const Source> join_sources(std::vector<std::shared_ptr<const Source>> sources,
                                           const std::string& path) {
  if (sources.empty()) throw Error(ErrorCode::argument, {}, "no source to join");
  const Schema& first = sources.front()->schema();
  for (const auto& source : sources) {
    const Schema& here = source->schema();
    std::string how = difference("class", first.classes, here.classes);
    if (how.empty()) how = difference("field", field_texts(first), field_texts(here));
    if (how.empty()) continue;
    throw Error(ErrorCode::argument, {.file = source->path()},
                fmt::format("it cannot be joined to {}: {}", sources.front()->path(), how));
  }
  if (sources.size() == 1) return sources.front();
  return std::make_shared<Joined>(std::move(sources), path);
}

}  // namespace tundish
