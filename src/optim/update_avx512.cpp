#include "optim/update_chunks.h"

namespace tundish::optim {

const ChunkLoops kChunkLoopsAvx512 = kLoops;

}  // namespace tundish::optim
