"""`tundish.accelerate(dataloader)`: an existing DataLoader of torch, faster, with one line changed.

accelerate      looks at the DataLoader, chooses, reports
known_sets      data sets whose samples the engine can read itself, through Subset and ConcatDataset
parts           such samples: files, or pixels in memory
torchvision_sets, timm_sets, hugging_face_sets  which data sets of these libraries are known
batch_functions  functions of set_transform that the engine can replace
mapped_files    where in a file the memory of an Arrow array comes from
translate       the transforms of a data set as those of tundish
samplers        samplers as orders of the engine
arguments       arguments of the DataLoader that only Python can carry out
unchanged       notices a data set or sampler that was changed later
sources         the samples as a source of the engine: a list of files, or an array
packs           a pack beside the files, made in the background
native          what stands in for the DataLoader when the engine does the work
kept            what stands in for it when the data set keeps its code
device_copies   batches copied to a device ahead of the loop
waits           how long the loop waited
proof           batches of both ways, compared
report          what was translated, what was kept, and why
reasons         why something stays with torch
where_defined   the file and line of something of the user's
"""
