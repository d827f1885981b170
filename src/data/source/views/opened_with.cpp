#include "data/source/views/opened_with.h"

#include <fmt/format.h>

#include "data/source/disk_cache/file_times.h"
#include "data/source/read_memory.h"

namespace tundish {
namespace {

class OpenedWith : public Source, public ReadMemory, public FileTimes {
 public:
  OpenedWith(std::shared_ptr<const Source> source, std::string options)
      : source_(std::move(source)), options_(std::move(options)) {}

  std::uint64_t count() const override { return source_->count(); }
  const Schema& schema() const override { return source_->schema(); }
  SampleInfo info(std::uint64_t i) const override { return source_->info(i); }
  std::string key(std::uint64_t i) const override { return source_->key(i); }
  std::string path() const override { return source_->path(); }
  Where where(std::uint64_t i) const override { return source_->where(i); }
  const Source& part(std::uint64_t& i) const override { return source_->part(i); }
  std::uint64_t bytes(std::uint64_t i) const override { return source_->bytes(i); }
  std::uint64_t memory() const override { return source_->memory(); }
  std::uint64_t memory_while_reading() const override {
    return tundish::memory_while_reading(*source_);
  }
  void keep_at_most(std::uint64_t bytes) const override { tundish::keep_at_most(*source_, bytes); }
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
  std::string fingerprint() const override { return source_->fingerprint() + options_; }
  std::string file_times() const override { return tundish::file_times(*source_); }
  const std::vector<std::string>& warnings() const override { return source_->warnings(); }

 private:
  const std::shared_ptr<const Source> source_;
  const std::string options_;
};

}  // namespace

std::shared_ptr<const Source> opened_with(std::shared_ptr<const Source> source,
                                          const SourceOptions& options, const std::string& format) {
  const auto is_named = [&](FieldType type, const std::string& name) {
    const Schema& schema = source->schema();
    const int field = schema.find(type);
    return field >= 0 && schema.fields[static_cast<std::size_t>(field)].name == name;
  };
  std::string text;
  // Includes the length, because a name may contain any bytes.
  const auto add = [&](const char* option, const std::string& value) {
    text += fmt::format(" {}={}:{}", option, value.size(), value);
  };
  if (!format.empty()) add("format", format);
  if (!options.image.empty() && !is_named(FieldType::image, options.image)) {
    add("image", options.image);
  }
  if (!options.label.empty() && !is_named(FieldType::label, options.label)) {
    add("label", options.label);
  }
  if (options.axis != 0) add("axis", std::to_string(options.axis));
  if (text.empty()) return source;
  return std::make_shared<OpenedWith>(std::move(source), std::move(text));
}

}  // namespace tundish
