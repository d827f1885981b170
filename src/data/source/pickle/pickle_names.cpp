#include "data/source/pickle/pickle_names.h"

#include <algorithm>
#include <array>

namespace tundish {
namespace {

constexpr std::array kNames = std::to_array<std::string_view>({
    "__builtin__.bytearray",
    "__builtin__.bytes",
    "__builtin__.frozenset",
    "__builtin__.list",
    "__builtin__.set",
    "__builtin__.tuple",
    "_codecs.encode",
    "builtins.bytearray",
    "builtins.bytes",
    "builtins.frozenset",
    "builtins.list",
    "builtins.set",
    "builtins.tuple",
    "collections.OrderedDict",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy._core.numeric._frombuffer",
    "numpy.core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy.dtype",
    "numpy.ndarray",
    "torch.BFloat16Storage",
    "torch.BoolStorage",
    "torch.ByteStorage",
    "torch.CharStorage",
    "torch.DoubleStorage",
    "torch.FloatStorage",
    "torch.HalfStorage",
    "torch.IntStorage",
    "torch.LongStorage",
    "torch.ShortStorage",
    "torch.Size",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch.bfloat16",
    "torch.bool",
    "torch.float16",
    "torch.float32",
    "torch.float64",
    "torch.int16",
    "torch.int32",
    "torch.int64",
    "torch.int8",
    "torch.storage.UntypedStorage",
    "torch.uint16",
    "torch.uint32",
    "torch.uint64",
    "torch.uint8",
});
static_assert(std::is_sorted(kNames.begin(), kNames.end()));

}  // namespace

bool pickle_name_allowed(std::string_view name) {
  return std::binary_search(kNames.begin(), kNames.end(), name);
}

}  // namespace tundish
