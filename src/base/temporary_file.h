// Files that are written beside their targets and then renamed. They are called PREFIX + process
// number (and ".n" when that is taken), and are locked while their writer lives: the kernel drops
// the lock with the process, so the next process can detect files that were left.
#pragma once

#include <string_view>

namespace tundish {

// A new, locked file of this name in the folder, open for reading and writing; keep it open until
// it is renamed. Negative, with errno, on failure: EAGAIN when a sweeper removed it in between;
// call again.
int make_temporary(int folder, const char* name);

// Removes the files of this prefix whose writers are gone. What cannot be removed stays.
void sweep_temporaries(int folder, std::string_view prefix);

}  // namespace tundish
