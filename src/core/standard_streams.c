// What stderr and stdin are called inside the linked-in archives (see CMakeLists.txt).
// No library of ours prints: they stay null, and every message goes through our own callbacks.
#include <stdio.h>

FILE* tundish_stderr = 0;
FILE* tundish_stdin = 0;
