#include "rewrite/convert/formats/hdf5_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tundish {
namespace {

constexpr std::uint64_t kChunkBytes = 64 << 10;  // for small entries; a larger entry is one chunk

hid_t short_float(std::size_t exponent_bits, std::size_t mantissa_bits, std::size_t bias) {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, mantissa_bits, exponent_bits, 0, mantissa_bits);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, bias);
  return type;
}

// Matches h5py's type for bool.
hid_t boolean() {
  const hid_t type = H5Tenum_create(H5T_STD_I8LE);
  for (const auto& [name, value] : {std::pair{"FALSE", std::int8_t{0}}, {"TRUE", std::int8_t{1}}}) {
    H5Tenum_insert(type, name, &value);
  }
  return type;
}

hid_t element_type(ArrayElement element) {
  switch (element) {
    case ArrayElement::boolean:
      return boolean();
    case ArrayElement::int8:
      return H5Tcopy(H5T_STD_I8LE);
    case ArrayElement::uint8:
      return H5Tcopy(H5T_STD_U8LE);
    case ArrayElement::int16:
      return H5Tcopy(H5T_STD_I16LE);
    case ArrayElement::uint16:
      return H5Tcopy(H5T_STD_U16LE);
    case ArrayElement::int32:
      return H5Tcopy(H5T_STD_I32LE);
    case ArrayElement::uint32:
      return H5Tcopy(H5T_STD_U32LE);
    case ArrayElement::int64:
      return H5Tcopy(H5T_STD_I64LE);
    case ArrayElement::uint64:
      return H5Tcopy(H5T_STD_U64LE);
    case ArrayElement::float16:
      return short_float(5, 10, 15);
    case ArrayElement::bfloat16:
      return short_float(8, 7, 127);
    case ArrayElement::float32:
      return H5Tcopy(H5T_IEEE_F32LE);
    case ArrayElement::float64:
      return H5Tcopy(H5T_IEEE_F64LE);
  }
  return -1;
}

hid_t type_of(const Hdf5Entry& kind) {
  if (kind.type) return element_type(kind.type->element);
  if (!kind.is_text) return H5Tvlen_create(H5T_STD_U8LE);
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

}  // namespace

Hdf5Id& Hdf5Id::operator=(Hdf5Id&& other) noexcept {
  if (this == &other) return *this;
  reset();
  id_ = std::exchange(other.id_, -1);
  close_ = other.close_;
  return *this;
}

bool Hdf5Id::reset() {
  const hid_t id = std::exchange(id_, -1);
  return id < 0 || close_(id) >= 0;
}

Hdf5File::Hdf5File(const std::string& target, bool replace)
    : target_(target), output_(target, replace) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);  // never load a plug-in
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access, false, true);  // the temporary file is already locked by this process
  file_ = Hdf5Id(H5Fcreate(output_.temporary_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access),
                 H5Fclose);
  if (file_ < 0) fail("make the file");
}

void Hdf5File::fail(const char* doing) const {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  throw Error(full ? ErrorCode::disk_full : ErrorCode::io_write, {.file = target_},
              std::string("libhdf5 could not ") + doing);
}

std::size_t Hdf5File::add_dataset(const std::string& name, const Hdf5Entry& kind,
                                  std::uint64_t entries) {
  Dataset dataset{.kind = kind, .sides = {entries}, .type = {}, .id = {}, .space = {}, .one = {}};
  std::uint64_t bytes = 16;  // per entry
  if (kind.type) {
    dataset.sides.insert(dataset.sides.end(), kind.type->shape.begin(), kind.type->shape.end());
    bytes = std::max<std::uint64_t>(array_bytes(*kind.type).value_or(1), 1);
  }
  const int axes = static_cast<int>(dataset.sides.size());
  std::vector<hsize_t> chunk = dataset.sides;
  chunk[0] = std::clamp<hsize_t>(kChunkBytes / bytes, 1, std::max<std::uint64_t>(entries, 1));
  for (hsize_t& side : chunk) side = std::max<hsize_t>(side, 1);
  std::vector<hsize_t> one = dataset.sides;
  one[0] = 1;
  const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(properties, axes, chunk.data());
  H5Pset_obj_track_times(properties, false);
  dataset.type = Hdf5Id(type_of(kind), H5Tclose);
  dataset.space = Hdf5Id(H5Screate_simple(axes, dataset.sides.data(), nullptr), H5Sclose);
  dataset.one = Hdf5Id(H5Screate_simple(axes, one.data(), nullptr), H5Sclose);
  dataset.id = Hdf5Id(H5Dcreate2(file_, name.c_str(), dataset.type, dataset.space, H5P_DEFAULT,
                                 properties, H5P_DEFAULT),
                      H5Dclose);
  if (dataset.id < 0) fail("make a dataset");
  datasets_.push_back(std::move(dataset));
  return datasets_.size() - 1;
}

void Hdf5File::write(std::size_t number, std::uint64_t entry, Bytes bytes) {
  const Dataset& dataset = datasets_[number];
  std::vector<hsize_t> start(dataset.sides.size(), 0);
  std::vector<hsize_t> count = dataset.sides;
  start[0] = entry;
  count[0] = 1;
  check(H5Sselect_hyperslab(dataset.space, H5S_SELECT_SET, start.data(), nullptr, count.data(),
                            nullptr),
        "select an entry");
  const void* from = bytes.data();
  hvl_t variable{bytes.size(), const_cast<std::byte*>(bytes.data())};
  std::string text;
  const char* text_start = nullptr;
  if (!dataset.kind.type && dataset.kind.is_text) {
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    text_start = text.c_str();
    from = &text_start;
  } else if (!dataset.kind.type) {
    from = &variable;
  } else if (bytes.empty()) {
    return;  // a shape without elements
  }
  check(H5Dwrite(dataset.id, dataset.type, dataset.one, dataset.space, H5P_DEFAULT, from),
        "write an entry");
}

void Hdf5File::shorten(std::size_t number, std::uint64_t entries) {
  Dataset& dataset = datasets_[number];
  if (dataset.sides[0] == entries) return;
  dataset.sides[0] = entries;
  check(H5Dset_extent(dataset.id, dataset.sides.data()), "shorten a dataset");
}

std::uint64_t Hdf5File::commit() {
  for (Dataset& dataset : datasets_) {
    if (!dataset.id.reset()) fail("close a dataset");
  }
  datasets_.clear();
  if (!file_.reset()) fail("close the file");
  struct stat status;
  if (::stat(output_.temporary_path().c_str(), &status) != 0) {
    throw_errno(target_, "size of the temporary file", true);
  }
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  output_.commit(bytes);
  return bytes;
}

}  // namespace tundish
