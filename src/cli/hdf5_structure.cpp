#include "cli/hdf5_structure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/file.h"
#include "base/machine/helper_process.h"
#include "cli/hdf5_types.h"
#include "data/source/formats/chunked/hdf5_chunks.h"

// libhdf5 references szip symbols, but describing a file decompresses nothing.
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

// A libhdf5 identifier that closes itself.
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

void check(const std::optional<Fault>& fault) {
  if (!fault) return;
  const std::string text = fmt::format("{} (at byte {})", fault->reason, fault->offset);
  if (fault->code == ErrorCode::format_unsupported) throw Unsupported(text);
  throw std::runtime_error(text);
}

// State shared by all datasets of one file.
struct Walk {
  Hdf5Blocks blocks;
  ReadAt read;
  bool compare = false;  // compare chunks with those that libhdf5 finds
  std::uint64_t name_bytes = 0;
  Hdf5Description found = {};
  std::map<haddr_t, std::string> names = {};  // of the arrays, by address
  std::string reason = {};
  bool unsupported = false;

  void leave_out(std::string name, std::string why, bool elsewhere) {
    found.omissions.push_back({std::move(name), std::move(why), elsewhere});
  }
};

// Cuts one block of elements in C order into chunks of whole rows, so that one sample is one read.
void read_block(Hdf5Array& out, Hdf5Blocks& blocks, std::uint64_t start) {
  constexpr std::uint64_t kMinBytes = 4096;
  const std::uint64_t rows = out.grid.shape[0];
  out.grid.chunk = out.grid.shape;
  out.grid.chunk[0] = 1;
  for (std::uint64_t& side : out.grid.chunk) side = std::max<std::uint64_t>(side, 1);
  const std::uint64_t row = array_bytes({out.grid.element, out.grid.chunk}).value_or(0);
  if (row == 0) throw Unsupported("HDF5: a row is too large");
  const std::uint64_t step =
      std::clamp<std::uint64_t>(kMinBytes / row, 1, std::max<std::uint64_t>(rows, 1));
  out.grid.chunk[0] = step;
  const bool empty = array_bytes({out.grid.element, out.grid.shape}) == 0u;
  if (start == kHdf5Nowhere || empty) return;  // never written: all fill values
  if (start > blocks.file_size() || rows > (blocks.file_size() - start) / row) {
    throw std::runtime_error(fmt::format("HDF5: values lead out of the file (at byte {})", start));
  }
  check(blocks.charge(rows * row, start));
  for (std::uint64_t first = 0; first < rows; first += step) {
    const std::uint64_t bytes = std::min(step, rows - first) * row;
    out.chunks.push_back({first / step, start + first * row, bytes, 0});
  }
}

// Compares with the reference: libhdf5 finds every chunk by its coordinates and reads its bytes.
// (H5Dget_chunk_info_by_coord scans the whole index on each call, and is wrong if the unlimited
// axis of an extensible array is not the first axis.)
void compare_with_library(const Hdf5Array& array, const Walk& walk, hid_t dataset,
                          const Hdf5Extent& extent, const std::vector<std::uint64_t>& sides) {
  std::vector<hsize_t> place(sides.size(), 0);
  auto ours = array.chunks.begin();
  std::vector<std::byte> own, other;
  for (std::uint64_t number = 0;; ++number) {
    const bool stored = ours != array.chunks.end() && ours->number == number;
    hsize_t bytes = 0;
    // Fails where the index has no entry.
    const bool found = H5Dget_chunk_storage_size(dataset, place.data(), &bytes) >= 0 && bytes > 0;
    bool same = stored == found && (!stored || ours->bytes == bytes);
    if (same && stored) {
      std::uint32_t mask = 0;
      own.resize(bytes), other.resize(bytes);
      same = walk.read(own, ours->offset) &&
             H5Dread_chunk(dataset, H5P_DEFAULT, place.data(), &mask, other.data()) >= 0 &&
             own == other && mask == ours->mask;
    }
    if (!same) throw std::runtime_error(fmt::format("HDF5: chunk {} differs", number));
    if (stored) ++ours;
    std::size_t a = place.size();
    while (a > 0 && place[a - 1] + sides[a - 1] >= extent.shape[a - 1]) place[--a] = 0;
    if (a == 0) return;
    place[a - 1] += sides[a - 1];
  }
}

void read_chunked(Hdf5Array& out, Walk& walk, const Hdf5Layout& layout, const Hdf5Extent& extent,
                  hid_t dataset) {
  const std::size_t axes = extent.shape.size();
  out.grid.chunk = layout.chunk;
  for (const std::uint64_t side : layout.chunk) {
    if (side == 0) throw std::runtime_error("HDF5: a chunk has no elements");
  }
  const std::size_t element =
      element_bytes(out.grid.element) * (out.grid.shape.size() > axes ? 2 : 1);
  if (layout.chunk.size() != axes || layout.element_bytes != element) {
    throw std::runtime_error("HDF5: chunks of another number of axes or of another type");
  }
  if (out.grid.shape.size() > axes) out.grid.chunk.push_back(2);  // added, not in the file
  check(read_hdf5_chunks(out.chunks, walk.blocks, layout, extent));
  const bool empty = std::find(extent.shape.begin(), extent.shape.end(), 0u) != extent.shape.end();
  if (walk.compare && !empty) compare_with_library(out, walk, dataset, extent, layout.chunk);
  mark_unfiltered_edges(out.chunks, layout, extent);
}

// Reads one element as stored, because libhdf5's native type of a short float is longer.
void read_fill(Hdf5Array& out, hid_t properties, hid_t type) {
  out.grid.fill.assign(element_bytes(out.grid.element), std::byte{0});
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  H5D_fill_time_t time = H5D_FILL_TIME_IFSET;
  H5Pfill_value_defined(properties, &defined);
  H5Pget_fill_time(properties, &time);
  if (defined != H5D_FILL_VALUE_USER_DEFINED || time == H5D_FILL_TIME_NEVER) return;
  if (H5Tget_size(type) != out.grid.fill.size() ||
      H5Pget_fill_value(properties, type, out.grid.fill.data()) < 0) {
    throw Unsupported(fmt::format("HDF5: {}: a fill value that cannot be read", out.name));
  }
  if (out.kind == Hdf5Kind::big_endian) std::reverse(out.grid.fill.begin(), out.grid.fill.end());
}

// Returns false for omitted datasets: texts other than class names, compounds, scalars.
bool read_dataset(Hdf5Array& out, Walk& walk, const Hdf5Layout& layout, hid_t dataset) {
  const Id space(H5Dget_space(dataset), H5Sclose);
  const Id type(H5Dget_type(dataset), H5Tclose);
  const int axes = H5Sget_simple_extent_ndims(space);
  Hdf5Element element = element_of(type);
  const bool texts = axes == 1 && out.name == kHdf5Classes && is_texts(type);
  const bool strings = texts || (axes == 1 && is_byte_strings(type));
  if (strings) element = {.element = ArrayElement::uint64};
  const bool keys = axes == 1 && out.name == kHdf5Keys && is_texts(type);  // nothing is lost
  if (axes >= 1 && !keys && !element.reason.empty()) {
    walk.leave_out(out.name, element.reason, false);
  }
  if (axes < 1 || axes > 64 || !element.element) return false;
  Hdf5Extent extent;
  std::vector<hsize_t> sides(static_cast<std::size_t>(axes)), most(sides);
  H5Sget_simple_extent_dims(space, sides.data(), most.data());
  extent.shape.assign(sides.begin(), sides.end());
  extent.max_shape.assign(most.begin(), most.end());
  out.grid.shape = extent.shape;
  out.grid.element = *element.element;
  if (strings) out.grid.shape.push_back(2);
  out.kind = texts                                ? Hdf5Kind::texts
             : strings                            ? Hdf5Kind::references
             : H5Tget_order(type) == H5T_ORDER_BE ? Hdf5Kind::big_endian
                                                  : Hdf5Kind::little_endian;
  const Id properties(H5Dget_create_plist(dataset), H5Pclose);
  if (strings) {
    out.grid.fill.assign(8, std::byte{0});
  } else {
    read_fill(out, properties, type);
  }
  if (layout.storage == Hdf5Storage::chunked) {
    read_filters(out, properties);
    read_chunked(out, walk, layout, extent, dataset);
  } else {
    read_block(out, walk.blocks, layout.offset);
  }
  return true;
}

constexpr const char* kCopyValues = "which are never opened: copy the values into this file";

void read_object(Walk& walk, hid_t root, const std::string& name, std::uint64_t header) {
  constexpr std::uint64_t kMaxName = 4096;
  walk.name_bytes += name.size();
  if (name.size() > kMaxName || walk.name_bytes > 2 * walk.blocks.file_size() + (1 << 20)) {
    throw Unsupported("HDF5: names of datasets are too long");
  }
  // Must precede opening by libhdf5, which would open the files that a virtual dataset names.
  Hdf5Layout layout;
  check(read_hdf5_layout(layout, walk.blocks, header));
  if (layout.storage == Hdf5Storage::virtual_sources) {
    return walk.leave_out(name, fmt::format("it is virtual, of other files, {}", kCopyValues),
                          true);
  }
  if (layout.has_external_files) {
    return walk.leave_out(name, fmt::format("its values are in other files, {}", kCopyValues),
                          true);
  }
  const Id dataset(H5Dopen2(root, name.c_str(), H5P_DEFAULT), H5Dclose);
  Hdf5Array array{.name = name, .grid = {}, .kind = {}, .filters = {}, .chunks = {}};
  if (!read_dataset(array, walk, layout, dataset)) return;
  walk.names.emplace(header, name);
  walk.found.arrays.push_back(std::move(array));
}

bool is_full(const Walk& walk) {
  return walk.found.arrays.size() > 10'000 || walk.found.omissions.size() > 10'000;
}

// Callback from libhdf5, which is C: no exception may pass through it.
template <class Act>
herr_t guarded(Walk& walk, const char* name, Act&& act) {
  try {
    act();
    if (!is_full(walk)) return 0;
    walk.reason = "HDF5: more than 10,000 datasets";
    walk.unsupported = true;
  } catch (const Unsupported& error) {
    walk.reason = error.what();
    walk.unsupported = true;
  } catch (const std::exception& error) {
    walk.reason = fmt::format("{}, in {}", error.what(), printable(name));
  }
  return -1;
}

herr_t visit_object(hid_t root, const char* name, const H5O_info_t* about, void* context) {
  Walk& walk = *static_cast<Walk*>(context);
  if (about->type != H5O_TYPE_DATASET) return 0;
  return guarded(walk, name, [&] { read_object(walk, root, name, about->addr); });
}

// An array with several names is listed under the first one.
herr_t visit_other_name(Walk& walk, hid_t root, const char* name) {
  constexpr std::size_t kMost = 1'000;
  H5O_info_t object{};
  if (walk.found.omissions.size() > kMost ||
      H5Oget_info_by_name2(root, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    return 0;  // a link to nothing
  }
  const auto array = walk.names.find(object.addr);
  if (array == walk.names.end() || array->second == name) return 0;
  return guarded(walk, name, [&] {
    walk.leave_out(name, fmt::format("it is another name of {}", array->second), false);
  });
}

herr_t visit_link(hid_t root, const char* name, const H5L_info_t* about, void* context) {
  Walk& walk = *static_cast<Walk*>(context);
  if (about->type < H5L_TYPE_EXTERNAL) return visit_other_name(walk, root, name);
  return guarded(walk, name, [&] {
    walk.leave_out(name, fmt::format("it is a link to another file, {}", kCopyValues), true);
  });
}

// Limits the process to one more open(): links, virtual datasets and plug-ins can open nothing.
void allow_one_more_file() {
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (next < 0) throw std::runtime_error("HDF5: no file can be opened");
  ::close(next);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = static_cast<rlim_t>(next) + 1;
  files.rlim_max = files.rlim_cur;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void check_header(hid_t file) {
  const Id creation(H5Fget_create_plist(file), H5Pclose);
  hsize_t user_block = 0;
  H5Pget_userblock(creation, &user_block);
  if (user_block != 0) throw Unsupported("HDF5: a user block before the data");
  std::size_t address_bytes = 0, size_bytes = 0;
  H5Pget_sizes(creation, &address_bytes, &size_bytes);
  if (address_bytes != 8 || size_bytes != 8)
    throw Unsupported("HDF5: addresses of other than 8 bytes");
}

std::string describe(const std::string& path, bool compare) {
  const File bytes = File::open(path);
  allow_one_more_file();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);  // never load a plug-in
  const Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_sec2(access);
  const Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  check_header(file);
  const ReadAt read = [&](ByteSpan out, std::uint64_t at) {
    return bytes.read_at(out, at) == out.size();
  };
  Walk walk{.blocks = Hdf5Blocks(bytes.size(), read), .read = read, .compare = compare};
  if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit_object, &walk, H5O_INFO_BASIC) < 0 ||
      H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_link, &walk) < 0) {
    if (walk.unsupported) throw Unsupported(walk.reason);
    throw std::runtime_error(walk.reason.empty() ? "HDF5: libhdf5 cannot list its objects"
                                                 : walk.reason);
  }
  const std::vector<std::byte> found = write_hdf5_index(walk.found);
  return {reinterpret_cast<const char*>(found.data()), found.size()};
}

}  // namespace

int describe_hdf5(std::string& out, const std::string& path, bool compare) {
  try {
    out = describe(path, compare);
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
