# What writes data sets in other formats: src/convert. Only the program uses it. target_formats.cpp,
# hdf5.cpp and hdf5_file.cpp belong to the program itself, which alone has libhdf5.
add_library(convert STATIC
  src/convert/formats/caffe_datum_message.cpp
  src/convert/convert.cpp
  src/convert/formats/example.cpp
  src/convert/field_file_names.cpp
  src/convert/formats/folder.cpp
  src/convert/image_ending.cpp
  src/convert/list_csv.cpp
  src/convert/formats/lmdb.cpp
  src/convert/formats/lmdb_tree_writer.cpp
  src/convert/formats/npy.cpp
  src/convert/npy_elements.cpp
  src/convert/output_folder.cpp
  src/convert/output_stream.cpp
  src/convert/image_files.cpp
  src/convert/raw_image.cpp
  src/convert/sample_files.cpp
  src/convert/sharded_output.cpp
  src/convert/formats/tar.cpp
  src/convert/formats/tar_header.cpp
  src/convert/target_folder.cpp
  src/convert/formats/tfrecord.cpp
)
target_link_libraries(convert PUBLIC engine)
