#include "data/source/source.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/interruption.h"
#include "codec/decode/raw.h"

namespace tundish {
namespace {

// Digests lengths before texts, so that "ab" + "c" and "a" + "bc" differ.
class Digest {
 public:
  Digest() { XXH3_128bits_reset(&state_); }

  void add(std::uint64_t word) { XXH3_128bits_update(&state_, &word, sizeof word); }

  void add(const std::string& text) {
    add(std::uint64_t{text.size()});
    XXH3_128bits_update(&state_, text.data(), text.size());
  }

  std::string hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  XXH3_state_t state_;
};

}  // namespace

const char* field_type_name(FieldType type) {
  switch (type) {
    case FieldType::image:
      return "image";
    case FieldType::label:
      return "label";
    case FieldType::text:
      return "text";
    case FieldType::bytes:
      return "bytes";
    case FieldType::number:
      return "number";
    case FieldType::array:
      return "array";
  }
  return "unknown";
}

int Schema::find(FieldType type) const {
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].type == type) return static_cast<int>(f);
  }
  return -1;
}

std::string Source::key_or_nothing(std::uint64_t i) const {
  try {
    return key(i);
  } catch (const std::exception&) {
    return {};
  }
}

Where Source::where(std::uint64_t i) const {
  return {.file = path(), .record = i, .key = key_or_nothing(i)};
}

Where Source::where_in(std::uint64_t i, int field) const {
  Where out = where(i);
  Extent extent;
  out.offset = this->extent(i, field, extent) ? extent.offset : 0;
  return out;
}

bool Source::extent(std::uint64_t, int, Extent&) const { return false; }

void Source::read_original(Sample& out, std::uint64_t i, FieldSet fields, const Limits&) const {
  read(out, i, fields);
}

void Source::read_original(Sample& out, std::uint64_t i, FieldSet fields) const {
  read_original(out, i, fields, Limits{});
}

std::optional<Fault> Source::read_header(ImageHeader& out, std::uint64_t i, Bytes image,
                                         const Limits& limits) const {
  if (const int field = schema().find(FieldType::image); field >= 0) {
    const Field& about = schema().fields[static_cast<std::size_t>(field)];
    if (about.array) {
      if (auto fault = read_raw_header(out, *about.array, about.channels_first, image)) {
        return fault;
      }
      return check_limits(out, image.size(), limits);
    }
  }
  if (auto fault = tundish::read_header(out, image, limits)) return fault;
  if (out.codec == Codec::lanes) {
    out.tables = tables(i);
    out.orientation = info(i).orientation;
  }
  return std::nullopt;
}

void Source::scan(const SampleSink& sink, const BadSink& bad) const {
  Sample sample;
  for (std::uint64_t i = 0; i < count(); ++i) {
    try {
      read_original(sample, i);
    } catch (const SampleError& error) {
      if (!bad) throw;
      if (!bad(i, error)) return;
      continue;
    }
    if (!sink(i, sample)) return;
  }
}

std::string Source::fingerprint() const {
  Digest digest;
  const Schema& schema = this->schema();
  digest.add(std::uint64_t{schema.fields.size()});
  for (const Field& field : schema.fields) {
    digest.add(field.name);
    digest.add(static_cast<std::uint64_t>(field.type));
    if (!field.array) continue;
    digest.add(array_text(*field.array));
    digest.add(std::uint64_t{field.channels_first});
  }
  digest.add(std::uint64_t{schema.classes.size()});
  for (const std::string& name : schema.classes) digest.add(name);
  digest.add(count());
  const std::string path = this->path();
  for (std::uint64_t i = 0; i < count(); ++i) {
    check_stop(path);
    digest.add(key(i));
    digest.add(static_cast<std::uint64_t>(info(i).label));
    digest.add(bytes(i));
  }
  return digest.hex();
}

const std::vector<std::string>& Source::warnings() const {
  static const std::vector<std::string> none;
  return none;
}

}  // namespace tundish
