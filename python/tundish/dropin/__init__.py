"""`tundish.accelerate(dataloader)` makes an existing torch DataLoader faster with a one-line change.

accelerate            examines the DataLoader, chooses a backend, reports
datasets/             datasets that the engine reads itself, also through Subset and ConcatDataset
translate             translates the transforms of a dataset to tundish transforms
samplers              translates samplers to orders of the engine
loader_arguments      checks for DataLoader arguments that need Python
loader_seeds          seeds of loaders, from torch's generators
replaced_functions    functions of torch.utils.data that a script replaced
native_loader         replaces the DataLoader if the engine makes the batches
torch_loader          wraps the DataLoader if the dataset keeps its code
packs/                finds a pack beside the files, or makes it in the background
changes/              detects datasets, samplers and files that changed later
proof                 compares the batches of the engine with torch's
device_copies         copies batches to a device ahead of the loop
waits                 measures how long the loop waits
accelerate_report     reports what was translated, what was kept, and why
reasons               reasons why torch's code is kept
"""
