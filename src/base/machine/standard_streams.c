// What stderr, stdin and stdout are called inside the linked-in archives (see CMakeLists.txt).
// No library of ours prints: they stay null, and every message goes through our own callbacks.
#include <stdio.h>

__attribute__((visibility("hidden"))) FILE* tundish_stderr = 0;
__attribute__((visibility("hidden"))) FILE* tundish_stdin = 0;
__attribute__((visibility("hidden"))) FILE* tundish_stdout = 0;
