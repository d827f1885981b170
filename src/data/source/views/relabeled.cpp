#include "data/source/views/relabeled.h"

#include "data/source/disk_cache/file_times.h"

namespace tundish {
namespace {

class Relabeled : public Source, public FileTimes {
 public:
  Relabeled(std::shared_ptr<const Source> source, Schema schema, std::vector<std::int64_t> labels,
            std::map<std::uint64_t, std::string> keys)
      : source_(std::move(source)),
        schema_(std::move(schema)),
        labels_(std::move(labels)),
        keys_(std::move(keys)) {}

  std::uint64_t count() const override { return source_->count(); }
  const Schema& schema() const override { return schema_; }
  SampleInfo info(std::uint64_t i) const override {
    SampleInfo out = source_->info(i);
    const auto place = static_cast<std::size_t>(out.label);
    if (out.label >= 0 && place < labels_.size()) out.label = labels_[place];
    return out;
  }
  std::string key(std::uint64_t i) const override {
    const auto found = keys_.find(i);
    return found == keys_.end() ? source_->key(i) : found->second;
  }
  std::string path() const override { return source_->path(); }
  Where where(std::uint64_t i) const override { return source_->where(i); }
  const Source& part(std::uint64_t& i) const override { return source_->part(i); }
  std::uint64_t bytes(std::uint64_t i) const override { return source_->bytes(i); }
  std::uint64_t memory() const override { return source_->memory(); }
  bool sizes_known() const override { return source_->sizes_known(); }
  bool labels_known() const override { return source_->labels_known(); }
  bool random_access() const override { return source_->random_access(); }
  bool extent(std::uint64_t i, int field, Extent& out) const override {
    return source_->extent(i, field, out);
  }
  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    source_->read(out, i, fields);
  }
  using Source::read_original;
  void read_original(Sample& out, std::uint64_t i, FieldSet fields,
                     const Limits& limits) const override {
    source_->read_original(out, i, fields, limits);
  }
  const lanes::Tables* tables(std::uint64_t i) const override { return source_->tables(i); }
  void scan(const SampleSink& sink, const BadSink& bad) const override { source_->scan(sink, bad); }
  // Includes the labels and keys of the view.
  std::string fingerprint() const override {
    return source_->fingerprint() + " " + Source::fingerprint();
  }
  std::string file_times() const override { return tundish::file_times(*source_); }
  const std::vector<std::string>& warnings() const override { return source_->warnings(); }

 private:
  const std::shared_ptr<const Source> source_;
  const Schema schema_;
  const std::vector<std::int64_t> labels_;
  const std::map<std::uint64_t, std::string> keys_;
};

}  // namespace

std::shared_ptr<const Source> relabel(std::shared_ptr<const Source> source, Schema schema,
                                      std::vector<std::int64_t> labels,
                                      std::map<std::uint64_t, std::string> keys) {
  return std::make_shared<Relabeled>(std::move(source), std::move(schema), std::move(labels),
                                     std::move(keys));
}

}  // namespace tundish
