// An HDF5 file written by libhdf5 that appears completely or not at all. One thread.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/array_type.h"
#include "base/bytes.h"
#include "data/pack/output_file.h"

namespace tundish {

// An identifier of libhdf5, closed by the destructor.
class Hdf5Id {
 public:
  Hdf5Id() = default;
  Hdf5Id(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Id(Hdf5Id&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Hdf5Id& operator=(Hdf5Id&& other) noexcept;
  ~Hdf5Id() { reset(); }
  operator hid_t() const { return id_; }
  bool reset();  // closes now; false on failure

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

// The type of a dataset's entries.
struct Hdf5Entry {
  std::optional<ArrayType> type;  // type of one entry; empty: variable length
  bool is_text = false;
  static Hdf5Entry array(ArrayType type) { return {std::move(type), false}; }
  static Hdf5Entry bytes() { return {}; }
  static Hdf5Entry text() { return {std::nullopt, true}; }
};

class Hdf5File {
 public:
  Hdf5File(const std::string& target, bool replace);  // throws like OutputFile

  // Returns the number of the dataset. Omits time stamps, so that equal data give equal bytes.
  std::size_t add_dataset(const std::string& name, const Hdf5Entry& kind, std::uint64_t entries);

  // An array needs all its elements; a text has no zero byte. Throws Error(io_write, disk_full).
  void write(std::size_t dataset, std::uint64_t entry, Bytes bytes);

  void shorten(std::size_t dataset, std::uint64_t entries);  // reduces the number of entries

  std::uint64_t commit();  // returns the size of the file

 private:
  struct Dataset {
    Hdf5Entry kind;
    std::vector<hsize_t> sides;  // shape of the whole dataset
    Hdf5Id type, id, space, one;
  };

  [[noreturn]] void fail(const char* doing) const;
  void check(herr_t code, const char* doing) const {
    if (code < 0) fail(doing);
  }

  const std::string target_;
  OutputFile output_;
  Hdf5Id file_;
  std::vector<Dataset> datasets_;
};

}  // namespace tundish
