#include "cli/hdf5_structure.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "core/machine/helper_process.h"
#include "source/formats/chunked/hdf5_index.h"

// libhdf5 names szip, but a description decompresses nothing.
extern "C" {
int SZ_encoder_enabled(void) { return 0; }
int SZ_BufftoBuffCompress(void*, std::size_t*, const void*, std::size_t, void*) { return -1; }
int SZ_BufftoBuffDecompress(void*, std::size_t*, const void*, std::size_t, void*) { return -1; }
}

namespace tundish::cli {
namespace {

struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An identifier of libhdf5 that closes itself.
class Id {
 public:
  Id(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
    if (id < 0) {
      throw std::runtime_error(
          "HDF5: libhdf5 cannot read its structure: it is damaged, or a newer libhdf5 wrote it "
          "with "
          "libver=\"latest\"");
    }
  }
  ~Id() { close_(id_); }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

std::optional<ArrayElement> element_of(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_INTEGER) {
    // NumPy's types only: no integers with unused bits.
    if (H5Tget_precision(type) != 8 * bytes) return {};
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    switch (bytes) {
      case 1:
        return is_signed ? ArrayElement::int8 : ArrayElement::uint8;
      case 2:
        return is_signed ? ArrayElement::int16 : ArrayElement::uint16;
      case 4:
        return is_signed ? ArrayElement::int32 : ArrayElement::uint32;
      case 8:
        return is_signed ? ArrayElement::int64 : ArrayElement::uint64;
      default:
        return {};
    }
  }
  if (kind == H5T_FLOAT) {
    std::size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
    H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits);
    if (bytes == 2 && exponent_bits == 5) return ArrayElement::float16;
    if (bytes == 2 && exponent_bits == 8) return ArrayElement::bfloat16;
    if (bytes == 4 && exponent_bits == 8) return ArrayElement::float32;
    if (bytes == 8 && exponent_bits == 11) return ArrayElement::float64;
  }
  // h5py writes bool as an enumeration of int8.
  if (kind == H5T_ENUM && bytes == 1 && H5Tget_nmembers(type) == 2) return ArrayElement::boolean;
  return {};
}

// Variable length, of bytes: JPEG files and the like.
bool is_byte_strings(hid_t type) {
  if (H5Tget_class(type) != H5T_VLEN) return false;
  const Id inside(H5Tget_super(type), H5Tclose);
  return H5Tget_class(inside) == H5T_INTEGER && H5Tget_size(inside) == 1;
}

bool is_texts(hid_t type) {
  return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
}

void read_filters(Hdf5Array& out, hid_t properties) {
  const int count = H5Pget_nfilters(properties);
  for (int f = 0; f < count; ++f) {
    unsigned flags = 0, settings = 0;
    unsigned values[16] = {};
    std::size_t many = 16;
    char name[64];
    const H5Z_filter_t id = H5Pget_filter2(properties, static_cast<unsigned>(f), &flags, &many,
                                           values, sizeof name, name, &settings);
    out.filters.push_back({static_cast<std::uint32_t>(id), values[0]});
  }
}

// One block of elements in C order is cut into chunks of one row each, so that a sample is a read.
void read_contiguous(Hdf5Array& out, hid_t dataset) {
  constexpr std::uint64_t kLeastBytes = 4096;
  const std::uint64_t rows = out.grid.shape[0];
  out.grid.chunk = out.grid.shape;
  out.grid.chunk[0] = 1;
  for (std::uint64_t& side : out.grid.chunk) side = std::max<std::uint64_t>(side, 1);
  const std::uint64_t row = array_bytes({out.grid.element, out.grid.chunk}).value_or(0);
  if (row == 0 || rows > kMaxGridSamples)
    throw Unsupported("HDF5: too many rows, or too large ones");
  const std::uint64_t step =
      std::clamp<std::uint64_t>(kLeastBytes / row, 1, std::max<std::uint64_t>(rows, 1));
  out.grid.chunk[0] = step;
  const haddr_t start = H5Dget_offset(dataset);
  if (start == HADDR_UNDEF) return;  // never written: the fill value
  for (std::uint64_t first = 0; first < rows; first += step) {
    const std::uint64_t bytes = std::min(step, rows - first) * row;
    out.chunks.push_back({first / step, start + first * row, bytes, 0});
  }
}

void read_chunked(Hdf5Array& out, hid_t dataset, hid_t properties) {
  // Of references the last axis is ours, not the file's.
  const bool strings = out.kind >= Hdf5Kind::references;
  const std::size_t axes = out.grid.shape.size() - (strings ? 1 : 0);
  std::vector<hsize_t> sides(axes), place(axes, 0);
  if (H5Pget_chunk(properties, static_cast<int>(axes), sides.data()) != static_cast<int>(axes)) {
    throw std::runtime_error("HDF5: chunks of another number of axes");
  }
  out.grid.chunk.assign(sides.begin(), sides.end());
  if (strings) out.grid.chunk.push_back(2);
  for (const hsize_t side : sides) {
    if (side == 0) throw std::runtime_error("HDF5: a chunk has no elements");
  }
  read_filters(out, properties);
  std::uint64_t number = 0;
  std::uint64_t all = 1;
  for (const std::uint64_t count : chunk_counts(out.grid)) {
    if (count > kMaxGridSamples || (all *= count) > kMaxGridSamples) {
      throw Unsupported("HDF5: more than 50 million chunks");
    }
  }
  if (all == 0) return;
  for (;; ++number) {
    unsigned mask = 0;
    haddr_t at = HADDR_UNDEF;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info_by_coord(dataset, place.data(), &mask, &at, &bytes) < 0) {
      throw std::runtime_error("HDF5: libhdf5 cannot find a chunk");
    }
    if (at != HADDR_UNDEF && bytes > 0) out.chunks.push_back({number, at, bytes, mask});
    std::size_t a = axes;
    while (a > 0 && place[a - 1] + sides[a - 1] >= out.grid.shape[a - 1]) place[--a] = 0;
    if (a == 0) return;
    place[a - 1] += sides[a - 1];
  }
}

// False for what is no array of numbers: texts but for the names of classes, compounds, scalars.
bool read_dataset(Hdf5Array& out, hid_t dataset) {
  const Id space(H5Dget_space(dataset), H5Sclose);
  const Id type(H5Dget_type(dataset), H5Tclose);
  const int axes = H5Sget_simple_extent_ndims(space);
  auto element = element_of(type);
  const bool texts = axes == 1 && out.name == kHdf5Classes && is_texts(type);
  const bool strings = texts || (axes == 1 && is_byte_strings(type));
  if (strings) element = ArrayElement::uint64;
  if (axes < 1 || axes > 64 || !element) return false;
  std::vector<hsize_t> sides(static_cast<std::size_t>(axes));
  H5Sget_simple_extent_dims(space, sides.data(), nullptr);
  out.grid.shape.assign(sides.begin(), sides.end());
  out.grid.element = *element;
  out.grid.fill.assign(element_bytes(*element), std::byte{0});
  if (strings) out.grid.shape.push_back(2);
  out.kind = texts                                ? Hdf5Kind::texts
             : strings                            ? Hdf5Kind::references
             : H5Tget_order(type) == H5T_ORDER_BE ? Hdf5Kind::big_endian
                                                  : Hdf5Kind::little_endian;
  const Id properties(H5Dget_create_plist(dataset), H5Pclose);
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  H5Pfill_value_defined(properties, &defined);
  if (defined == H5D_FILL_VALUE_USER_DEFINED && !strings) {
    const Id native(H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose);
    std::vector<std::byte> value(std::max(H5Tget_size(native), out.grid.fill.size()));
    if (H5Pget_fill_value(properties, native, value.data()) >= 0) {
      std::copy_n(value.begin(), out.grid.fill.size(), out.grid.fill.begin());
    }
  }
  switch (H5Pget_layout(properties)) {
    case H5D_CONTIGUOUS:
      if (H5Pget_external_count(properties) > 0) return false;
      read_contiguous(out, dataset);
      return true;
    case H5D_CHUNKED:
      read_chunked(out, dataset, properties);
      return true;
    default:
      return false;  // compact (tiny) and virtual
  }
}

struct Walk {
  std::vector<Hdf5Array> arrays;
  std::string reason;
  bool unsupported = false;
};

// Called by libhdf5, which is C: nothing may be thrown through it.
herr_t visit(hid_t root, const char* name, const H5O_info_t* about, void* context) {
  Walk& walk = *static_cast<Walk*>(context);
  if (about->type != H5O_TYPE_DATASET) return 0;
  try {
    const Id dataset(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
    Hdf5Array array{.name = name, .grid = {}, .kind = {}, .filters = {}, .chunks = {}};
    if (read_dataset(array, dataset)) walk.arrays.push_back(std::move(array));
    return walk.arrays.size() > 10'000 ? -1 : 0;
  } catch (const Unsupported& error) {
    walk.reason = error.what();
    walk.unsupported = true;
    return -1;
  } catch (const std::exception& error) {
    walk.reason = error.what();
    return -1;
  }
}

std::string describe(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);  // no plug-in is ever loaded
  const Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_sec2(access);
  const Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  const Id creation(H5Fget_create_plist(file), H5Pclose);
  hsize_t user_block = 0;
  H5Pget_userblock(creation, &user_block);
  if (user_block != 0) throw Unsupported("HDF5: a user block before the data");
  std::size_t address_bytes = 0, size_bytes = 0;
  H5Pget_sizes(creation, &address_bytes, &size_bytes);
  if (address_bytes != 8 || size_bytes != 8)
    throw Unsupported("HDF5: addresses of other than 8 bytes");
  Walk walk;
  if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit, &walk, H5O_INFO_BASIC) < 0) {
    if (walk.unsupported) throw Unsupported(walk.reason);
    throw std::runtime_error(walk.reason.empty() ? "HDF5: libhdf5 cannot list its objects"
                                                 : walk.reason);
  }
  const std::vector<std::byte> bytes = write_hdf5_index(walk.arrays);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

int describe_hdf5(std::string& out, const std::string& path) {
  try {
    out = describe(path);
    return 0;
  } catch (const Unsupported& error) {
    out = error.what();
    return kHelperUnsupported;
  } catch (const std::runtime_error& error) {
    out = error.what();
    return kHelperDamaged;
  }
}

}  // namespace tundish::cli
