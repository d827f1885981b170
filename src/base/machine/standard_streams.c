// The names of stderr, stdin and stdout inside the linked-in archives (see CMakeLists.txt).
// No linked library prints: the streams stay null, and every message goes through our callbacks.
#include <stdio.h>

__attribute__((visibility("hidden"))) FILE* tundish_stderr = 0;
__attribute__((visibility("hidden"))) FILE* tundish_stdin = 0;
__attribute__((visibility("hidden"))) FILE* tundish_stdout = 0;
