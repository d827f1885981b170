"""`tundish.accelerate(dataloader)`: an existing DataLoader of torch, faster, with one line changed.

accelerate            looks at the DataLoader, chooses, reports
datasets/             data sets whose samples the engine can read itself, through Subset and ConcatDataset
translate             the transforms of a data set as those of tundish
samplers              samplers as orders of the engine
loader_arguments      arguments of the DataLoader that only Python can carry out
native_loader         replaces the DataLoader when the engine makes the batches
torch_loader          wraps the DataLoader when the data set keeps its code
packs/                a pack beside the files, found or made in the background
changes/              detects a data set, sampler or file that changed later
proof                 compares batches of both ways
device_copies         copies batches to a device ahead of the loop
waits                 how long the loop waited
accelerate_report     what was translated, what was kept, and why
reasons               why something stays with torch
"""
