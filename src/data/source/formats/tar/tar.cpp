#include "data/source/formats/tar/tar.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>

#include "base/file.h"
#include "base/interruption.h"
#include "codec/decode/decode.h"
#include "data/source/decompress.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/folder_entries.h"
#include "data/source/formats/tar/tar_folder.h"
#include "data/source/formats/tar/tar_index.h"
#include "data/source/formats/tar/tar_reader.h"
#include "data/source/names.h"
#include "data/source/views/pattern.h"

namespace tundish {
namespace {

struct Archive {
  std::string path;
  Compression compression = Compression::none;
  std::uint64_t stamp = 0;   // stamp when opened
  WrittenAt written = {};    // when opened
  std::optional<File> file;  // kept open
};

// Reads the bytes of an archive from the front.
class ArchiveStream : public ByteStream {
 public:
  explicit ArchiveStream(const Archive& archive)
      : own_(archive.file ? File() : File::open(archive.path)),
        stored_(archive.file ? *archive.file : own_) {
    if (archive.compression != Compression::none) {
      unpacked_ = decompress(stored_, archive.compression, archive.path);
    }
  }
  std::size_t read(std::span<std::byte> out) override { return bytes().read(out); }
  std::uint64_t skip(std::uint64_t count) override { return bytes().skip(count); }
  std::optional<std::uint64_t> left() const override {
    return unpacked_ ? unpacked_->left() : stored_.left();
  }
  std::uint64_t offset() const override {
    return unpacked_ ? unpacked_->offset() : stored_.offset();
  }

 private:
  ByteStream& bytes() { return unpacked_ ? *unpacked_ : stored_; }

  File own_;
  FileStream stored_;
  std::unique_ptr<ByteStream> unpacked_;
};

class Tar : public Source, public FileTimes {
 public:
  Tar(const std::string& path, const std::vector<std::string>& files) : path_(path) {
    for (const std::string& name : files) {
      Archive archive;
      archive.path = name;
      File file = File::open(name);
      archive.stamp = content_stamp(file);
      archive.written = written_at(file);
      if (file.size() == 0) throw Error(ErrorCode::file_empty, {.file = name}, "");
      std::array<std::byte, 16> first;
      const std::size_t got = file.read_at(first, 0);
      archive.compression = sniff_compression(Bytes(first).first(got));
      compressed_ = compressed_ || archive.compression != Compression::none;
      if (archives_.size() < kMaxOpenFiles) archive.file = std::move(file);
      archives_.push_back(std::move(archive));
    }
    const auto open = [&](std::uint32_t number) {
      check_stop(path_);
      index_.archive = number;  // names the file in faults; decompressors throw it themselves
      return std::make_unique<ArchiveStream>(archives_[number]);
    };
    const std::vector<std::string> names = archive_names(files);
    if (const auto fault = index_tars(index_, names, open)) fail(*fault, archives_[index_.archive]);
    for (std::string& text : index_.warnings) text = printable(path) + ": " + text;
  }

  std::uint64_t count() const override { return index_.keys.size(); }
  const Schema& schema() const override { return index_.schema; }
  SampleInfo info(std::uint64_t i) const override { return {.label = index_.labels[i]}; }
  std::string key(std::uint64_t i) const override { return std::string(index_.keys[i]); }
  std::string path() const override { return path_; }
  const std::vector<std::string>& warnings() const override { return index_.warnings; }
  bool random_access() const override { return !compressed_; }
  Where where(std::uint64_t i) const override {
    return {.file = archive_of(i).path, .record = i, .key = key(i)};
  }
  std::string file_times() const override {
    std::string all;
    for (const Archive& archive : archives_) all += fmt::format("{:x} ", archive.stamp);
    return all;
  }

  std::uint64_t bytes(std::uint64_t i) const override {
    std::uint64_t sum = 0;
    for (const TarIndex::Part& part : parts(i)) sum += part.size;
    return sum;
  }

  bool extent(std::uint64_t i, int field, Extent& out) const override {
    if (!random_access()) return false;
    for (const TarIndex::Part& part : parts(i)) {
      if (static_cast<int>(part.field) != field) continue;
      out = {archive_of(i).path, part.offset, part.size};
      return true;
    }
    return false;
  }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    if (!random_access()) throw Error(ErrorCode::no_random_access, {.file = path_}, "");
    clear(out);
    const Archive& archive = archive_of(i);
    File own;
    if (!archive.file) own = open_again(archive, i);
    const File& file = archive.file ? *archive.file : own;
    for (const TarIndex::Part& part : parts(i)) {
      if ((fields >> part.field & 1) == 0) continue;
      check_size(i, part);
      std::vector<std::byte>& field = out.fields[part.field];
      field.resize(part.size);
      std::size_t got = 0;
      try {
        got = file.read_at(field, part.offset);
        if (got == part.size) check_unwritten(file, archive.written);
      } catch (const Error& error) {
        throw SampleError(error.code(), where_in(i, part), error.reason());
      }
      if (got < part.size) {
        throw SampleError(ErrorCode::source_changed, where_in(i, part),
                          "the archive became shorter after it was opened");
      }
    }
  }

  void scan(const SampleSink& sink, const BadSink& bad) const override {
    if (random_access()) return Source::scan(sink, bad);
    const Archive* archive = nullptr;
    std::optional<ArchiveStream> stream;
    std::optional<TarReader> reader;
    Sample sample;
    for (std::uint64_t i = 0; i < count(); ++i) {
      if (archive != &archive_of(i)) {
        archive = &archive_of(i);
        reader.reset();
        stream.emplace(*archive);
        reader.emplace(*stream);
      }
      clear(sample);
      std::optional<SampleError> error;
      for (const TarIndex::Part& part : parts(i)) {
        find(*reader, part, *archive);
        try {
          check_size(i, part);
        } catch (const SampleError& found) {
          if (!error) error = found;
          continue;
        }
        if (!reader->read(sample.fields[part.field])) fail(*reader->fault(), *archive);
      }
      if (error && !bad) throw *error;
      if (!(error ? bad(i, *error) : sink(i, sample))) return;
    }
  }

 private:
  std::span<const TarIndex::Part> parts(std::uint64_t i) const {
    const std::uint64_t from = index_.first_part[i];
    return std::span(index_.parts).subspan(from, index_.first_part[i + 1] - from);
  }

  // Every sample has an image, and so at least one part.
  const Archive& archive_of(std::uint64_t i) const { return archives_[parts(i)[0].archive]; }

  static File open_again(const Archive& archive, std::uint64_t i) {
    try {
      return File::open(archive.path);
    } catch (const Error& error) {
      throw SampleError(error.code(), {.file = archive.path, .record = i}, error.reason());
    }
  }

  Where where_in(std::uint64_t i, const TarIndex::Part& part) const {
    return {
        .file = archives_[part.archive].path, .record = i, .key = key(i), .offset = part.offset};
  }

  void clear(Sample& sample) const {
    sample.fields.resize(index_.schema.fields.size());
    for (std::vector<std::byte>& field : sample.fields) field.clear();
  }

  void check_size(std::uint64_t i, const TarIndex::Part& part) const {
    const std::uint64_t most = Limits{}.max_bytes;
    if (part.size > most) {
      throw SampleError(ErrorCode::image_too_large, where_in(i, part),
                        fmt::format("{} bytes, at most {} are allowed", with_commas(part.size),
                                    with_commas(most)));
    }
    if (part.size == 0 && part.field == 0) {
      throw SampleError(ErrorCode::file_empty, where_in(i, part), "");
    }
  }

  // Moves the reader to the member that was at this place when the archive was opened.
  static void find(TarReader& reader, const TarIndex::Part& part, const Archive& archive) {
    TarMember member;
    while (reader.next(member)) {
      if (member.offset < part.offset) continue;
      if (member.offset == part.offset && member.size == part.size) return;
      break;
    }
    if (reader.fault()) fail(*reader.fault(), archive);
    throw Error(ErrorCode::source_changed, {.file = archive.path, .offset = part.offset},
                "its members are others than when it was opened");
  }

  [[noreturn]] static void fail(const Fault& fault, const Archive& archive) {
    const std::string& path = archive.path;
    if (archive.compression == Compression::none) throw Error(fault, {.file = path});
    const std::string where =
        fmt::format("counted in the unpacked {} data", compression_name(archive.compression));
    throw Error(fault.code, {.file = path, .offset = fault.offset},
                fault.reason.empty() ? where : fault.reason + " (" + where + ")");
  }

  std::string path_;
  std::vector<Archive> archives_;
  bool compressed_ = false;  // at least one archive is compressed
  TarIndex index_;
};

}  // namespace

std::shared_ptr<const Source> open_tar(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return open_tars(path, {path});
  }
  std::vector<std::string> files = list_tars(path);
  for (std::string& name : files) name = join_path(path, name);
  if (files.empty()) throw Error(ErrorCode::source_empty, {.file = path}, "it has no archive");
  return open_tars(path, files);
}

std::shared_ptr<const Source> open_tars(const std::string& path,
                                        const std::vector<std::string>& files) {
  return std::make_shared<Tar>(path, files);
}

}  // namespace tundish
