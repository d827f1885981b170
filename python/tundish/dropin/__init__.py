"""`tundish.accelerate(dataloader)` makes an existing torch DataLoader faster with a one-line change.

accelerate            examines the DataLoader, chooses a backend and returns the replacement
datasets/             datasets that the engine can read, including inside Subset and ConcatDataset
translate             translates the transforms of a dataset to tundish transforms
samplers              translates samplers to orders of the engine
loader_arguments      checks for DataLoader arguments that need Python
loader_seeds          chooses the seeds of loaders, from torch's generators
replaced_functions    finds functions of torch.utils.data that a script replaced
native_loader         replaces the DataLoader if the engine makes the batches
torch_loader          wraps the DataLoader if torch's code is kept
packs/                finds a pack of the dataset's files, or makes it in the background
changes/              detects changes to datasets, samplers and files
proof                 compares the engine's batches with torch's batches
device_copies         copies batches to a device ahead of the training loop
waits                 measures how long the training loop waits
accelerate_report     reports what was translated, what was kept, and why
reasons               the reasons why torch's code is kept
"""
