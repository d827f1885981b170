"""Serves the samples of a Python dataset to the program that packs them: `tundish.pack(dataset, ...)`.

sample_values   kinds of values: an image, an array, a text, ...
sample_fields   the fields of a dataset, and the encoding of values
dataset_schema  finds the fields of a dataset from some of its samples
images          encodes images
snapshot        copies samples that an iterator may overwrite
layout          the common structure of all samples
hugging_face    datasets of the library `datasets`
messages        messages to the program over a socket
serve           answers the program's requests for samples
worker_pool     the processes that serve, or a thread of this process
worker_process  a serving process
"""
