"""The samples of a Python data set, for the program that packs them: `tundish.pack(dataset, ...)`.

values     what a value is: an image, an array, a text, ...
fields     the fields of a data set, and one value as the bytes of its field
describe   which fields a data set has, from some of its samples
hugging_face  data sets of the library `datasets`
messages   what goes over a socket to the program
serve      answers the program's questions for samples
workers    the processes that serve, or the thread of this one
worker     such a process
"""
