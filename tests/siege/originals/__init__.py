"""Random files of each format, written by its original library, and the samples that library reads from them."""
