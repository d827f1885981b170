#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <unordered_set>

#include "data/source/labels.h"
#include "rewrite/convert/formats/tar_header.h"
#include "rewrite/convert/formats/writers.h"
#include "rewrite/convert/output_folder.h"
#include "rewrite/convert/sample_files.h"
#include "rewrite/convert/sharded_output.h"

namespace tundish {
namespace {

// Returns "train-000000.tar", ... for "train.tar": WebDataset's "train-{000000..000003}.tar".
std::vector<std::string> shard_names(const std::string& target, std::uint64_t shards) {
  if (shards == 1) return {target};
  const bool has_ending = target.ends_with(".tar");
  const std::string stem = target.substr(0, target.size() - (has_ending ? 4 : 0));
  std::vector<std::string> out;
  for (std::uint64_t s = 0; s <= shards; ++s) out.push_back(fmt::format("{}-{:06}.tar", stem, s));
  struct stat status;
  if (::lstat(out.back().c_str(), &status) == 0) {
    throw Error(ErrorCode::argument, {.file = out.back()},
                "it would be taken for a shard of the new set; remove it, or choose another name");
  }
  out.pop_back();
  return out;
}

class TarWriter : public TargetWriter {
 public:
  explicit TarWriter(const Conversion& conversion)
      : report_(conversion.report),
        schema_(conversion.source.schema()),
        output_(conversion, shard_names(conversion.target, conversion.shards),
                [](OutputStream& shard) { shard.write_zeros(2 * kTarBlock); }),
        files_(schema_, FileNames::of_archive) {
    if (schema_.find(FieldType::label) < 0 || schema_.classes.empty()) return;
    comment_ = tar_comment(class_list_text(schema_.classes));
    if (comment_.size() <= kMaxComment) return;
    comment_.clear();
    report_.warnings.push_back("the names of the classes take more than 1 MB and are not written");
  }

  void add(const ConvertSample& sample) override {
    const std::string stem = stem_of(sample);
    const std::vector<SampleFile>& files = files_.of(sample, stem);
    for (const SampleFile& file : files) {
      if (const auto fault = check_name(file.name)) {
        throw SampleError(*fault, sample.where());
      }
    }
    OutputStream& out = output_.of(sample.number);
    if (out.offset() == 0) out.write(comment_);
    for (const SampleFile& file : files) {
      out.write(tar_file_head(file.name, file.content.size()));
      out.write(file.content);
      out.write_zeros(tar_padding(file.content.size()));
    }
  }

  void finish() override {
    output_.finish();
    if (renamed_ > 0) {
      report_.warnings.push_back(fmt::format(
          "{} samples have other names in the archive, because a name ends at its first "
          "dot there and is unique (first: {} is {})",
          with_commas(renamed_), printable(first_renamed_), printable(first_stem_)));
    }
  }

 private:
  // Returns the name up to its first dot. Every sample gets a distinct stem.
  std::string stem_of(const ConvertSample& sample) {
    const std::size_t base = sample.key.rfind('/') + 1;  // npos + 1 is 0
    std::string wanted, stem;
    if (schema_.source == "tar") {
      wanted = stem = sample.key.substr(0, sample.key.find('.', base));
    } else {
      wanted = stem = split_image_name(sample.key).stem;
      std::replace(stem.begin() + static_cast<std::ptrdiff_t>(base), stem.end(), '.', '_');
      if (stem.size() == base) stem += fmt::format("{:08}", sample.number);
    }
    while (!insert(stem)) stem += fmt::format("-{:08}", sample.number);
    if (stem != wanted && ++renamed_ == 1) {
      first_renamed_ = sample.key;
      first_stem_ = stem;
    }
    return stem;
  }

  // 64 bits suffice: if two names have one hash, only the second sample loses its name.
  bool insert(const std::string& stem) {
    return stems_.insert(XXH3_64bits(stem.data(), stem.size())).second;
  }

  static constexpr std::size_t kMaxComment = 1 << 20;  // limit accepted by readers of archives

  ConvertReport& report_;
  const Schema& schema_;
  std::string comment_;  // precedes the first file of a shard: the class names
  ShardedOutput output_;
  SampleFiles files_;
  std::unordered_set<std::uint64_t> stems_;
  std::uint64_t renamed_ = 0;
  std::string first_renamed_, first_stem_;
};

}  // namespace

std::unique_ptr<TargetWriter> make_tar_writer(const Conversion& conversion) {
  return std::make_unique<TarWriter>(conversion);
}

}  // namespace tundish
