#include "optim/update_chunks.h"

namespace tundish::optim {

const ChunkLoops kChunkLoopsAvx2 = kLoops;

}  // namespace tundish::optim
