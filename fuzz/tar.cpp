// Any bytes as an archive, plain or compressed: consistent samples, or a fault.
// parser: src/data/source/formats/tar/* src/data/source/decompress.*
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "data/source/decompress.h"
#include "data/source/formats/tar/tar_index.h"
#include "data/source/formats/tar/tar_reader.h"
#include "data/source/memory_stream.h"
#include "data/source/names.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

// A stream of unknown length. It ends early, so that a small decompression bomb stays fast.
class Blind : public ByteStream {
 public:
  explicit Blind(ByteStream& in) : in_(in) {}
  std::size_t read(std::span<std::byte> out) override {
    const std::uint64_t room = kMax - in_.offset();
    return in_.read(out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), room))));
  }
  std::uint64_t offset() const override { return in_.offset(); }

 private:
  static constexpr std::uint64_t kMax = (1 << 20) + (1 << 17);  // 1 MiB of zeros after the end
  ByteStream& in_;
};

// The same stream over bytes in memory.
class BlindMemory : public ByteStream {
 public:
  explicit BlindMemory(Bytes bytes) : bytes_(bytes), blind_(bytes_) {}
  std::size_t read(std::span<std::byte> out) override { return blind_.read(out); }
  std::uint64_t offset() const override { return blind_.offset(); }

 private:
  MemoryStream bytes_;
  Blind blind_;
};

// Writes the correct checksum of every header, so that changes reach the code behind the check.
// Octal sizes suffice to find the headers. Not instrumented: this function is not under test.
__attribute__((no_sanitize("coverage"))) void mend_checksums(std::vector<std::byte>& archive) {
  for (std::size_t at = 0; archive.size() - at >= 512;) {
    std::byte* block = &archive[at];
    unsigned sum = 8 * ' ';
    std::size_t size = 0;
    for (std::size_t i = 0; i < 512; ++i) {
      if (i < 148 || i >= 156) sum += std::to_integer<unsigned>(block[i]);
    }
    for (std::size_t i = 124; i < 135; ++i) {
      const auto digit = std::to_integer<unsigned>(block[i]) - '0';
      if (digit < 8) size = size * 8 + digit;
    }
    at += 512;
    if (sum == 8 * ' ') continue;  // an end mark
    for (int i = 5; i >= 0; --i, sum >>= 3) {
      block[148 + i] = static_cast<std::byte>('0' + (sum & 7));
    }
    block[154] = std::byte{0};
    block[155] = std::byte{' '};
    const auto type = std::to_integer<char>(block[156]);
    if (type >= '1' && type <= '6') continue;
    if (size > archive.size() - at) return;
    at += std::min((size + 511) / 512 * 512, archive.size() - at);
  }
}

void check(const TarIndex& index, std::uint64_t bytes) {
  const std::size_t count = index.keys.size();
  require(count > 0 && index.labels.size() == count && index.first_part.size() == count + 1);
  require(index.schema.fields.size() <= kMaxFields);
  require(index.schema.find(FieldType::image) == 0);
  require(index.first_part.front() == 0 && index.first_part.back() == index.parts.size());
  std::uint64_t last_end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key(index.keys[i]);
    require(!key.empty() && key == clean_path(key) && !key.starts_with('/') &&
            !key.starts_with("../") && key.find('\0') == std::string::npos);
    FieldSet seen = 0;
    for (std::uint64_t p = index.first_part[i]; p < index.first_part[i + 1]; ++p) {
      const TarIndex::Part& part = index.parts[p];
      require(part.offset >= last_end && part.size <= bytes && part.offset <= bytes - part.size);
      require(part.field < index.schema.fields.size());
      require((seen >> part.field & 1) == 0);
      seen |= FieldSet{1} << part.field;
      last_end = part.offset + part.size;
    }
    require((seen & 1) == 1);
  }
}

void try_plain(Bytes archive) {
  MemoryStream stream(archive);
  TarIndex index;
  const auto fault = index_tar(index, stream);
  if (!fault) check(index, archive.size());

  // Repeats with streams of unknown length, and with two archives as one dataset.
  const std::vector<std::string> names(archive.size() <= 4096 ? 2 : 1, "a");
  TarIndex twin;
  const auto twin_fault = index_tars(
      twin, names, [&](std::uint32_t) { return std::make_unique<BlindMemory>(archive); });
  if (archive.size() >= (1 << 20)) return;
  require(fault.has_value() == twin_fault.has_value());
  if (fault) return;
  require(names.size() * index.labels.size() == twin.labels.size());
  require(names.size() * index.parts.size() == twin.parts.size());
  require(twin.keys.size() == twin.labels.size());
  for (std::size_t i = 0; i < twin.labels.size(); ++i) {
    require(twin.labels[i] == index.labels[i % index.labels.size()]);
  }
}

void try_compressed(Bytes bytes, Compression compression) {
  MemoryStream stream(bytes);
  try {
    const auto unpacked = decompress(stream, compression, "fuzz");
    Blind blind(*unpacked);
    TarIndex index;
    if (!index_tar(index, blind)) check(index, unpacked->offset());
  } catch (const Error& error) {
    require(error.code() == ErrorCode::compression_damaged);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const Compression compression = sniff_compression(bytes);
  if (compression != Compression::none) {
    try_compressed(bytes, compression);
    return 0;
  }
  try_plain(bytes);
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  mend_checksums(mended);
  if (!std::equal(mended.begin(), mended.end(), bytes.begin(), bytes.end())) try_plain(mended);
  return 0;
}
