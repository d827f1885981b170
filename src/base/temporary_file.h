// Files that are written beside their targets and then renamed. Their names are PREFIX + process
// number (and ".n" if that is taken). A writer holds a lock on its file. The kernel drops the lock
// when the process ends, so the next process can detect leftover files.
#pragma once

#include <string_view>

namespace tundish {

// Creates a new, locked file of this name in the folder, open for reading and writing. Keep the
// file open until it is renamed. Returns a negative number, with errno, on failure. EAGAIN: a
// sweeper removed the file in between; call again.
int make_temporary(int folder, const char* name);

// Removes files with this prefix whose writers have ended. Skips files that cannot be removed.
void sweep_temporaries(int folder, std::string_view prefix);

}  // namespace tundish
