#include "source/formats/tar.h"

#include <fmt/format.h>

#include <array>

#include "core/file.h"
#include "decode/decode.h"
#include "source/decompress.h"
#include "source/formats/tar_index.h"
#include "source/formats/tar_reader.h"

namespace tundish {
namespace {

class Tar : public Source {
 public:
  explicit Tar(const std::string& path) : path_(path), file_(File::open(path)) {
    if (file_.size() == 0) throw Error(ErrorCode::file_empty, {.file = path}, "");
    std::array<std::byte, 16> first;
    const std::size_t got = file_.read_at(first, 0);
    compression_ = sniff_compression(Bytes(first).first(got));
    Stream stream(*this);
    if (const auto fault = index_tar(index_, stream.bytes())) fail(*fault);
    for (std::string& text : index_.warnings) text = printable(path) + ": " + text;
  }

  std::uint64_t count() const override { return index_.keys.size(); }
  const Schema& schema() const override { return index_.schema; }
  SampleInfo info(std::uint64_t i) const override { return {.label = index_.labels[i]}; }
  std::string key(std::uint64_t i) const override { return std::string(index_.keys[i]); }
  std::string path() const override { return path_; }
  const std::vector<std::string>& warnings() const override { return index_.warnings; }
  bool random_access() const override { return compression_ == Compression::none; }

  std::uint64_t bytes(std::uint64_t i) const override {
    std::uint64_t sum = 0;
    for (const TarIndex::Part& part : parts(i)) sum += part.size;
    return sum;
  }

  bool extent(std::uint64_t i, int field, Extent& out) const override {
    if (!random_access()) return false;
    for (const TarIndex::Part& part : parts(i)) {
      if (static_cast<int>(part.field) != field) continue;
      out = {path_, part.offset, part.size};
      return true;
    }
    return false;
  }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    if (!random_access()) throw Error(ErrorCode::no_random_access, {.file = path_}, "");
    clear(out);
    for (const TarIndex::Part& part : parts(i)) {
      if ((fields >> part.field & 1) == 0) continue;
      check_size(i, part);
      std::vector<std::byte>& field = out.fields[part.field];
      field.resize(part.size);
      std::size_t got = 0;
      try {
        got = file_.read_at(field, part.offset);
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
    Stream stream(*this);
    TarReader reader(stream.bytes());
    Sample sample;
    for (std::uint64_t i = 0; i < count(); ++i) {
      clear(sample);
      std::optional<SampleError> error;
      for (const TarIndex::Part& part : parts(i)) {
        find(reader, part);
        try {
          check_size(i, part);
        } catch (const SampleError& found) {
          if (!error) error = found;
          continue;
        }
        if (!reader.read(sample.fields[part.field])) fail(*reader.fault());
      }
      if (error && !bad) throw *error;
      if (!(error ? bad(i, *error) : sink(i, sample))) return;
    }
  }

 private:
  // The archive's bytes from the front.
  class Stream {
   public:
    explicit Stream(const Tar& tar) : file_(tar.file_) {
      if (tar.compression_ != Compression::none) {
        unpacked_ = decompress(file_, tar.compression_, tar.path_);
      }
    }
    ByteStream& bytes() { return unpacked_ ? *unpacked_ : file_; }

   private:
    FileStream file_;
    std::unique_ptr<ByteStream> unpacked_;
  };

  std::span<const TarIndex::Part> parts(std::uint64_t i) const {
    const std::uint64_t from = index_.first_part[i];
    return std::span(index_.parts).subspan(from, index_.first_part[i + 1] - from);
  }

  Where where_in(std::uint64_t i, const TarIndex::Part& part) const {
    return {.file = path_, .record = i, .key = key(i), .offset = part.offset};
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

  // Brings the reader to the member that was at this place when the archive was opened.
  void find(TarReader& reader, const TarIndex::Part& part) const {
    TarMember member;
    while (reader.next(member)) {
      if (member.offset < part.offset) continue;
      if (member.offset == part.offset && member.size == part.size) return;
      break;
    }
    if (reader.fault()) fail(*reader.fault());
    throw Error(ErrorCode::source_changed, {.file = path_, .offset = part.offset},
                "its members are others than when it was opened");
  }

  [[noreturn]] void fail(const Fault& fault) const {
    if (compression_ == Compression::none) throw Error(fault, {.file = path_});
    const std::string where =
        fmt::format("counted in the unpacked {} data", compression_name(compression_));
    throw Error(fault.code, {.file = path_, .offset = fault.offset},
                fault.reason.empty() ? where : fault.reason + " (" + where + ")");
  }

  std::string path_;
  File file_;
  Compression compression_ = Compression::none;
  TarIndex index_;
};

}  // namespace

std::shared_ptr<const Source> open_tar(const std::string& path) {
  return std::make_shared<Tar>(path);
}

}  // namespace tundish
