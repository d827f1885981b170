#include "rewrite/convert/image_files.h"

#include "codec/decode/raw.h"
#include "data/source/disk_cache/file_times.h"
#include "rewrite/convert/raw_image.h"

namespace tundish {
namespace {

class ImageFiles : public Source, public FileTimes {
 public:
  ImageFiles(std::shared_ptr<const Source> source, std::size_t image)
      : source_(std::move(source)), image_(image), schema_(source_->schema()) {
    schema_.fields[image_].array.reset();
    schema_.fields[image_].channels_first = false;
  }

  std::uint64_t count() const override { return source_->count(); }
  const Schema& schema() const override { return schema_; }
  SampleInfo info(std::uint64_t i) const override {
    SampleInfo out = source_->info(i);
    out.codec = Codec::unknown;
    return out;
  }
  std::string key(std::uint64_t i) const override { return source_->key(i); }
  std::string path() const override { return source_->path(); }
  Where where(std::uint64_t i) const override { return source_->where(i); }
  std::uint64_t bytes(std::uint64_t) const override { return 0; }
  std::uint64_t memory() const override { return source_->memory(); }
  bool sizes_known() const override { return false; }
  bool labels_known() const override { return source_->labels_known(); }
  bool random_access() const override { return source_->random_access(); }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    source_->read(out, i, fields);
    if ((fields >> image_ & 1) != 0) make_file(out, i);
  }

  void scan(const SampleSink& sink, const BadSink& bad) const override {
    if (random_access()) return Source::scan(sink, bad);
    source_->scan(
        [&](std::uint64_t i, Sample& sample) {
          try {
            make_file(sample, i);
          } catch (const SampleError& error) {
            if (!bad) throw;
            return bad(i, error);
          }
          return sink(i, sample);
        },
        bad);
  }

  std::string fingerprint() const override { return source_->fingerprint() + " as files"; }
  std::string file_times() const override { return tundish::file_times(*source_); }
  const std::vector<std::string>& warnings() const override { return source_->warnings(); }

 private:
  void make_file(Sample& sample, std::uint64_t i) const {
    const Field& field = source_->schema().fields[image_];
    std::vector<std::byte>& bytes = sample.fields[image_];
    ImageHeader header;
    if (auto fault = read_raw_header(header, *field.array, field.channels_first, bytes)) {
      throw SampleError(*fault, source_->where_in(i, static_cast<int>(image_)));
    }
    std::vector<std::byte> file;
    raw_to_file(file, field, bytes);
    bytes.swap(file);
  }

  const std::shared_ptr<const Source> source_;
  const std::size_t image_;
  Schema schema_;
};

}  // namespace

std::shared_ptr<const Source> as_image_files(std::shared_ptr<const Source> source) {
  const int image = source->schema().find(FieldType::image);
  if (image < 0) return source;
  const auto number = static_cast<std::size_t>(image);
  if (!source->schema().fields[number].array) return source;
  return std::make_shared<ImageFiles>(std::move(source), number);
}

}  // namespace tundish
