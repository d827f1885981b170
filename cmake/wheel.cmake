# What `pip wheel .` and ./dev wheel take out of this build (scikit-build-core, pyproject.toml): the
# library inside the package, the program as a script, and the licence of everything linked in.

include(${CMAKE_CURRENT_LIST_DIR}/install_licence.cmake)

install(TARGETS tundish LIBRARY DESTINATION tundish COMPONENT wheel)
install(TARGETS program RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)

set(docs /usr/share/doc)
install_licence(libjpeg-turbo ${docs}/libjpeg62-turbo-dev/copyright ${docs}/libjpeg-turbo8-dev/copyright)
install_licence(libpng ${docs}/libpng-dev/copyright)
install_licence(libwebp ${docs}/libwebp-dev/copyright)
install_licence(libdeflate ${docs}/libdeflate-dev/copyright)
install_licence(zlib ${docs}/zlib1g-dev/copyright)
install_licence(zstd ${docs}/libzstd-dev/copyright)
install_licence(lz4 ${docs}/liblz4-dev/copyright)
if(TUNDISH_HDF5 AND ARCHIVE_hdf5 AND HDF5_HEADERS)
  install_licence(hdf5 ${docs}/libhdf5-dev/copyright)
endif()
install_licence(liblzma ${docs}/liblzma-dev/copyright)
install_licence(bzip2 ${docs}/libbz2-dev/copyright)
install_licence(fmt ${docs}/libfmt-dev/copyright)
install_licence(nlohmann-json ${docs}/nlohmann-json3-dev/copyright)
install_licence(CLI11 ${docs}/libcli11-dev/copyright)
install_licence(xxhash ${docs}/libxxhash-dev/copyright)
# Static parts of the compiler: libstdc++ and libgcc have one text.
string(REGEX MATCH "^[0-9]+" gcc_version "${CMAKE_CXX_COMPILER_VERSION}")
install_licence(libstdc++ ${docs}/libstdc++-${gcc_version}-dev/copyright ${docs}/gcc-${gcc_version}-base/copyright)
install_licence(libgcc ${docs}/libgcc-${gcc_version}-dev/copyright ${docs}/gcc-${gcc_version}-base/copyright)
if(TARGET CUDA::cudart_static)
  # The toolkit's own place, Debian's packages of NVIDIA, and the toolkit from PyPI.
  file(GLOB cuda_licences
    ${CUDAToolkit_LIBRARY_ROOT}/EULA.txt
    ${CUDAToolkit_LIBRARY_ROOT}/LICENSE
    ${CUDAToolkit_LIBRARY_ROOT}/dist-info/nvidia_cuda_runtime-*/licenses/License.txt
    ${CUDAToolkit_LIBRARY_ROOT}/../../nvidia_cuda_runtime-*/licenses/License.txt
    ${CUDAToolkit_LIBRARY_ROOT}/../../nvidia_cuda_runtime-*/License.txt
    ${docs}/cuda-cudart-dev-*/copyright)
  install_licence(cuda-runtime ${cuda_licences})
endif()
