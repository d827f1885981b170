// Any data set, by number. One file pair per format in formats/; a pack is a Source too.
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
  // Of an image or array that has this type and shape in every sample, and is stored as its
  // elements alone. Without it an array is a .npy file, an image whatever its first bytes say.
  std::optional<ArrayType> array = {};
  bool channels_first = false;  // of such an image: (C, H, W), not (H, W) or (H, W, C)
  bool operator==(const Field&) const = default;
};

// At most one image and one label. The label is a number of SampleInfo and has no bytes;
// number: 8 bytes, a little-endian double; text: UTF-8.
struct Schema {
  std::vector<Field> fields;
  std::vector<std::string> classes;  // name of label 0, 1, ...; empty when labels have no names
  std::string source;                // "image folder", "csv", "tar": provenance, never a path

  int find(FieldType type) const;  // number of the first such field, or -1
};

// A set of field numbers; bit f stands for schema().fields[f].
using FieldSet = std::uint64_t;
constexpr FieldSet kAllFields = ~FieldSet{0};
constexpr std::size_t kMaxFields = 64;

struct SampleInfo {
  std::uint32_t width = 0;  // 0: not known before the bytes are read
  std::uint32_t height = 0;
  Codec codec = Codec::unknown;
  std::uint8_t orientation = 1;
  std::int64_t label = -1;  // -1: none
};

// The bytes of one sample, by field number. A reader reuses the memory.
struct Sample {
  std::vector<std::vector<std::byte>> fields;
};

// Part of a file that holds one field of one sample.
struct Extent {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// Receives samples in file order; false ends the scan.
using SampleSink = std::function<bool(std::uint64_t i, Sample& sample)>;

struct ImageHeader;
struct Limits;

class Source {
 public:
  virtual ~Source() = default;

  // All but read and scan do no I/O and may be called from any thread.
  virtual std::uint64_t count() const = 0;
  virtual const Schema& schema() const = 0;
  virtual SampleInfo info(std::uint64_t i) const = 0;
  virtual std::string key(std::uint64_t i)
      const = 0;  // its name in the data set: raw bytes, relative. A pack reads it.
  std::string key_or_nothing(std::uint64_t i) const;  // for messages: empty where key() throws
  virtual std::string path() const = 0;               // as the user gave it, for messages
  virtual Where where(std::uint64_t i) const;         // the same with record and key
  // Of joined sources the one that holds sample i; i becomes its number in that source.
  virtual const Source& part(std::uint64_t&) const { return *this; }
  // Bytes of all stored fields of sample i as they will be read; 0 for one that cannot be read.
  virtual std::uint64_t bytes(std::uint64_t i) const = 0;
  // About what the source itself keeps in memory, for a loader's budget.
  virtual std::uint64_t memory() const { return 512 * count(); }
  virtual bool sizes_known() const { return true; }   // false: bytes() gives 0 for every sample
  virtual bool labels_known() const { return true; }  // false: info() has a label after its read
  virtual bool random_access() const { return true; }
  // Where field f of sample i is, when it is a plain part of a file; false otherwise: use read.
  virtual bool extent(std::uint64_t i, int field, Extent& out) const;
  // where() of a fault in the bytes of field f, of which it counts its offset.
  Where where_in(std::uint64_t i, int field) const;

  // Any thread; reuses out's memory; fields not asked for become empty. Throws SampleError, and
  // Error(no_random_access) where random_access() is false.
  virtual void read(Sample& out, std::uint64_t i, FieldSet fields = kAllFields) const = 0;

  // The same, but the bytes are those that the sample had before it was packed. Images over the
  // limits are refused before memory is taken for them; without limits the usual ones hold.
  virtual void read_original(Sample& out, std::uint64_t i, FieldSet fields,
                             const Limits& limits) const;
  void read_original(Sample& out, std::uint64_t i, FieldSet fields = kAllFields) const;

  // The header of an image that read() gave, with what only the source knows about the image.
  std::optional<Fault> read_header(ImageHeader& out, std::uint64_t i, Bytes image,
                                   const Limits& limits) const;

  // What image i is decoded with when its codec is lanes; nullptr when there are no such images.
  virtual const lanes::Tables* tables(std::uint64_t) const { return nullptr; }

  // Every sample in order, one thread. The default calls read_original(). A sample that cannot be
  // read goes to `bad`; without `bad` its error is thrown.
  using BadSink = std::function<bool(std::uint64_t i, const SampleError& error)>;
  virtual void scan(const SampleSink& sink, const BadSink& bad = {}) const;

  // Something that changes when the data do: pack id, or a digest of keys, labels and sizes.
  virtual std::string fingerprint() const;

  // What opening noticed and did not fail on: class folders without images, files left out.
  virtual const std::vector<std::string>& warnings() const;
};

}  // namespace tundish
