// A dataset with numbered samples. One file pair per format in formats/; a pack is a Source too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/array_type.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/image.h"

namespace tundish::lanes {
struct Tables;
}

namespace tundish {

enum class FieldType : std::uint8_t { image, label, text, bytes, number, array };

const char* field_type_name(FieldType type);  // "image", "label", ...

struct Field {
  std::string name;
  FieldType type = FieldType::bytes;
  // Set for an image or array with this type and shape in every sample, stored as its elements
  // alone. If not set, an array is a .npy file, and an image has the format of its first bytes.
  std::optional<ArrayType> array = {};
  bool channels_first = false;  // for such an image: (C, H, W), not (H, W) or (H, W, C)
  bool operator==(const Field&) const = default;
};

// At most one image and one label. The label is a number in SampleInfo and has no bytes.
// number: 8 bytes, a little-endian double; text: UTF-8.
struct Schema {
  std::vector<Field> fields;
  std::vector<std::string> classes;  // name of label 0, 1, ...; empty if labels have no names
  std::string source;                // "image folder", "csv", "tar": provenance, never a path

  int find(FieldType type) const;  // number of the first such field, or -1
};

// A set of field numbers; bit f represents schema().fields[f].
using FieldSet = std::uint64_t;
constexpr FieldSet kAllFields = ~FieldSet{0};
constexpr std::size_t kMaxFields = 64;

struct SampleInfo {
  std::uint32_t width = 0;  // 0: unknown before the bytes are read
  std::uint32_t height = 0;
  Codec codec = Codec::unknown;
  std::uint8_t orientation = 1;
  std::int64_t label = -1;  // -1: none
};

// The bytes of one sample, by field number. A reader reuses the memory.
struct Sample {
  std::vector<std::vector<std::byte>> fields;
};

// Part of a file with one field of one sample.
struct Extent {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// Receives samples in file order; returning false ends the scan.
using SampleSink = std::function<bool(std::uint64_t i, Sample& sample)>;

struct ImageHeader;
struct Limits;

class Source {
 public:
  virtual ~Source() = default;

  // All functions except read and scan do no I/O and may be called from any thread.
  virtual std::uint64_t count() const = 0;
  virtual const Schema& schema() const = 0;
  virtual SampleInfo info(std::uint64_t i) const = 0;
  virtual std::string key(std::uint64_t i)
      const = 0;  // name in the dataset: raw bytes, relative. A pack does I/O for it.
  std::string key_or_nothing(std::uint64_t i) const;  // for messages: empty if key() throws
  virtual std::string path() const = 0;               // path as the user gave it, for messages
  virtual Where where(std::uint64_t i) const;         // path with record and key
  // Returns the joined source that holds sample i, and sets i to the sample's number in it.
  virtual const Source& part(std::uint64_t&) const { return *this; }
  // Returns the bytes of all stored fields of sample i as read; 0 for an unreadable sample.
  virtual std::uint64_t bytes(std::uint64_t i) const = 0;
  // Returns the approximate memory of the source itself, for a loader's budget.
  virtual std::uint64_t memory() const { return 512 * count(); }
  virtual bool sizes_known() const { return true; }   // false: bytes() returns 0 for every sample
  virtual bool labels_known() const { return true; }  // false: info() has a label after a read
  virtual bool random_access() const { return true; }
  // Gets the place of field f of sample i if it is a plain part of a file; false: use read.
  virtual bool extent(std::uint64_t i, int field, Extent& out) const;
  // Returns where() for a fault in the bytes of field f, from which it counts its offset.
  Where where_in(std::uint64_t i, int field) const;

  // Any thread; reuses out's memory; fields not requested become empty. Throws SampleError, and
  // Error(no_random_access) if random_access() is false.
  virtual void read(Sample& out, std::uint64_t i, FieldSet fields = kAllFields) const = 0;

  // Like read(), but returns the bytes that the sample had before it was packed. Refuses images
  // over the limits before it allocates memory for them; without limits, the defaults apply.
  virtual void read_original(Sample& out, std::uint64_t i, FieldSet fields,
                             const Limits& limits) const;
  void read_original(Sample& out, std::uint64_t i, FieldSet fields = kAllFields) const;

  // Reads the header of an image from read(), with facts that only the source has about the image.
  std::optional<Fault> read_header(ImageHeader& out, std::uint64_t i, Bytes image,
                                   const Limits& limits) const;

  // Returns the tables to decode image i if its codec is lanes; nullptr without such images.
  virtual const lanes::Tables* tables(std::uint64_t) const { return nullptr; }

  // Visits every sample in order, on one thread. The default calls read_original(). Passes errors
  // of unreadable samples to `bad`; throws them without `bad`.
  using BadSink = std::function<bool(std::uint64_t i, const SampleError& error)>;
  virtual void scan(const SampleSink& sink, const BadSink& bad = {}) const;

  // Returns a text that changes with the data: pack id, or a digest of keys, labels and sizes.
  virtual std::string fingerprint() const;

  // Returns findings of opening that are no errors: class folders without images, omitted files.
  virtual const std::vector<std::string>& warnings() const;
};

}  // namespace tundish
