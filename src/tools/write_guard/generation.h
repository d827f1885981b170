// A counter that all processes of a trial share: how often folders and links of the trial changed.
#pragma once

namespace tundish::guard {

constexpr unsigned long kUnknown = ~0UL;  // the counter could not be made

// 0: nothing was written yet.
unsigned long generation();

// Called after each change, so that what is remembered of paths is not used any more.
void count_change();

}  // namespace tundish::guard
