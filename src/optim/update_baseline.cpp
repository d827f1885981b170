#include "optim/update_chunks.h"

namespace tundish::optim {

const ChunkLoops kChunkLoopsBaseline = kLoops;

}  // namespace tundish::optim
