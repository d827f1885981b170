#include "data/source/views/selected.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "data/source/disk_cache/file_times.h"

namespace tundish {
namespace {

class Selected : public Source, public FileTimes {
 public:
  Selected(std::shared_ptr<const Source> source, std::vector<std::uint64_t> numbers)
      : source_(std::move(source)), numbers_(std::move(numbers)) {}

  std::uint64_t count() const override { return numbers_.size(); }
  const Schema& schema() const override { return source_->schema(); }
  SampleInfo info(std::uint64_t i) const override { return source_->info(at(i)); }
  std::string key(std::uint64_t i) const override { return source_->key(at(i)); }
  std::string path() const override { return source_->path(); }
  Where where(std::uint64_t i) const override { return source_->where(at(i)); }
  const Source& part(std::uint64_t& i) const override {
    i = at(i);
    return source_->part(i);
  }
  std::uint64_t bytes(std::uint64_t i) const override { return source_->bytes(at(i)); }
  std::uint64_t memory() const override { return source_->memory() + 8 * numbers_.size(); }
  bool sizes_known() const override { return source_->sizes_known(); }
  bool labels_known() const override { return source_->labels_known(); }
  bool random_access() const override { return source_->random_access(); }
  bool extent(std::uint64_t i, int field, Extent& out) const override {
    return source_->extent(at(i), field, out);
  }
  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    source_->read(out, at(i), fields);
  }
  using Source::read_original;
  void read_original(Sample& out, std::uint64_t i, FieldSet fields,
                     const Limits& limits) const override {
    source_->read_original(out, at(i), fields, limits);
  }
  const lanes::Tables* tables(std::uint64_t i) const override { return source_->tables(at(i)); }

  void scan(const SampleSink& sink, const BadSink& bad) const override {
    std::size_t next = 0;  // index in numbers_
    const auto wanted = [&](std::uint64_t i) { return next < count() && numbers_[next] == i; };
    source_->scan(
        [&](std::uint64_t i, Sample& sample) {
          if (wanted(i) && !sink(next++, sample)) return false;
          return next < count();
        },
        [&](std::uint64_t i, const SampleError& error) {
          if (!wanted(i)) return true;
          if (!bad) throw error;
          return bad(next++, error) && next < count();
        });
  }

  std::string fingerprint() const override {
    const std::size_t bytes = numbers_.size() * sizeof(std::uint64_t);
    const XXH128_hash_t hash = XXH3_128bits(numbers_.data(), bytes);
    return fmt::format("{} chosen {} {:016x}{:016x}", source_->fingerprint(), count(), hash.high64,
                       hash.low64);
  }
  std::string file_times() const override { return tundish::file_times(*source_); }
  const std::vector<std::string>& warnings() const override { return source_->warnings(); }

 private:
  std::uint64_t at(std::uint64_t i) const {
    if (i < numbers_.size()) return numbers_[i];
    throw Error(ErrorCode::no_such_record, {.file = path(), .record = i},
                fmt::format("{} are chosen, counted from 0", with_commas(count())));
  }

  const std::shared_ptr<const Source> source_;
  const std::vector<std::uint64_t> numbers_;
};

}  // namespace

std::shared_ptr<const Source> select_samples(std::shared_ptr<const Source> source,
                                             std::vector<std::uint64_t> numbers) {
  return std::make_shared<Selected>(std::move(source), std::move(numbers));
}

}  // namespace tundish
