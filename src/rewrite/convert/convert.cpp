#include "rewrite/convert/convert.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/interruption.h"
#include "data/source/label_vector.h"
#include "rewrite/convert/image_ending.h"

namespace tundish {
namespace {

bool is_damage(ErrorCode code) {
  const int hundreds = static_cast<int>(code) / 100;
  return hundreds == 1 || hundreds == 2 || code == ErrorCode::io_read;
}

class Converter {
 public:
  Converter(const std::string& target, const TargetFormat& format, const Source& source,
            const ConvertOptions& options)
      : source_(source),
        path_(source.path()),
        options_(options),
        writer_(format.make(
            {source, target, options.replace, options.shards, options.class_folders, report_})) {
    const std::vector<std::string>& classes = source.schema().classes;
    // The list of a folder already contains the names, as columns.
    const bool has_list = std::string_view(format.name) == "folder";
    if (has_list || classes.empty() || label_vector_field(source.schema()) < 0) return;
    report_.left_out.push_back(fmt::format("the names of the {} classes of the label vectors",
                                           with_commas(classes.size())));
  }

  void run() {
    source_.scan([&](std::uint64_t i, const Sample& sample) { return take(i, sample); },
                 [&](std::uint64_t, const SampleError& error) {
                   refuse(error);
                   return step();
                 });
  }

  ConvertReport finish(bool may_be_empty) {
    if (report_.samples == 0 && !may_be_empty) {
      if (!report_.refused.empty()) throw report_.refused.front();
      throw Error(ErrorCode::source_empty, {.file = path_}, "");
    }
    writer_->finish();
    return std::move(report_);
  }

 private:
  bool take(std::uint64_t i, const Sample& sample) {
    try {
      writer_->add({i, name_of(i, sample), source_.info(i), sample});
      ++report_.samples;
    } catch (const SampleError& error) {
      refuse(error);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::name_unsafe) throw;  // a fault of the whole source or target
      report_.refused.emplace_back(
          error.code(), Where{.file = path_, .record = i, .key = source_.key_or_nothing(i)},
          error.reason());
    }
    return step();
  }

  bool step() {
    check_stop(path_);
    if (options_.progress) options_.progress(report_);
    return true;
  }

  void refuse(const SampleError& error) {
    if (error.code() == ErrorCode::no_memory) throw error;
    Where where = error.where();
    if (where.file.empty()) where.file = path_;  // writers have no path
    report_.refused.emplace_back(error.code(), std::move(where), error.reason());
  }

  // Returns the key, or a made-up name if a block of names is damaged: the record may be valid.
  std::string name_of(std::uint64_t i, const Sample& sample) {
    try {
      return source_.key(i);
    } catch (const Error& error) {
      if (!is_damage(error.code())) throw;
      const std::string text = error.what();
      if (text != last_name_damage_) report_.refused.push_back(error);
      last_name_damage_ = text;
      const int image = source_.schema().find(FieldType::image);
      const Bytes bytes = image < 0 ? Bytes() : sample.fields.at(static_cast<std::size_t>(image));
      return fmt::format("record-{}{}", i, image_ending(bytes));
    }
  }

  const Source& source_;
  const std::string path_;
  const ConvertOptions& options_;
  ConvertReport report_;
  std::unique_ptr<TargetWriter> writer_;
  std::string last_name_damage_;  // to report each damaged block once
};

}  // namespace

ConvertReport convert(const std::string& target, const TargetFormat& format, const Source& source,
                      const ConvertOptions& options) {
  if (options.shards > 1 && !format.shards) {
    throw Error(ErrorCode::argument, {.file = target},
                fmt::format("{} is one file: leave out --shards", format.about));
  }
  if (options.shards < 1 || options.shards > std::max<std::uint64_t>(source.count(), 1)) {
    throw Error(ErrorCode::argument, {.file = target},
                fmt::format("{} shards for {} samples", with_commas(options.shards),
                            with_commas(source.count())));
  }
  try {
    Converter converter(target, format, source, options);
    converter.run();
    return converter.finish(format.may_be_empty);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::interrupted) throw;
    // Reading loops poll the request and name their source; the target is named instead.
    throw Error(ErrorCode::interrupted, {.file = target}, error.reason());
  }
}

}  // namespace tundish
