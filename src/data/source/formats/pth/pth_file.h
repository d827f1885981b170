// A file of torch.save(): a pickle, and the storages of its tensors. Reads the zip form and the
// legacy form; refuses the form of 2016, a tar archive.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "data/source/arrays/stored_array.h"
#include "data/source/pickle/pickle.h"

namespace tundish {

inline constexpr const char* kPthFormat = "torch.save";
inline constexpr std::uint64_t kMaxPickleBytes = 256ull << 20;

struct PthFile {
  // Elements of tensors, in the file or, if they were compressed, in memory.
  struct Storage {
    SharedStore store;
    std::uint64_t offset = 0, bytes = 0;
  };

  SharedStore store;
  Pickle pickle;
  std::vector<std::byte> pickle_bytes;  // referenced by views in the pickle's texts
  // Keeps the same bytes as long as the dataset: in the file, or in memory if they were
  // compressed.
  SharedStore pickle_store;
  std::uint64_t pickle_offset = 0;
  // Bytes of NumPy arrays that were pickled as text, by the number of their value.
  std::unordered_map<std::int64_t, SharedStore> decoded;
  std::unordered_map<std::string, Storage> storages;  // indexed by key
  bool big_endian = false;
};

bool begins_as_legacy_pth(Bytes first);

// `left`: remaining budget of bytes to unpack into memory. Throws Error.
void read_pth_file(PthFile& out, SharedStore store, std::uint64_t& left);

// Returns the type of a storage from the name of its class, "torch.FloatStorage", or from torch's
// type, "torch.float32".
std::optional<ArrayElement> torch_element(std::string_view name);

}  // namespace tundish
