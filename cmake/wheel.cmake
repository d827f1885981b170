# Files that `pip wheel .` and ./dev wheel take from this build (scikit-build-core, pyproject.toml):
# the libraries in the package, the program as a script, and the license of every linked library.

include(${CMAKE_CURRENT_LIST_DIR}/install_license.cmake)

install(TARGETS tundish tundish_guard LIBRARY DESTINATION tundish COMPONENT wheel)
install(TARGETS program RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)

set(docs /usr/share/doc)
install_license(libjpeg-turbo ${docs}/libjpeg62-turbo-dev/copyright ${docs}/libjpeg-turbo8-dev/copyright)
install_license(libpng ${docs}/libpng-dev/copyright)
install_license(libwebp ${docs}/libwebp-dev/copyright)
install_license(libdeflate ${docs}/libdeflate-dev/copyright)
install_license(zlib ${docs}/zlib1g-dev/copyright)
install_license(zstd ${docs}/libzstd-dev/copyright)
install_license(lz4 ${docs}/liblz4-dev/copyright)
if(TUNDISH_HDF5 AND ARCHIVE_hdf5 AND HDF5_HEADERS)
  install_license(hdf5 ${docs}/libhdf5-dev/copyright)
endif()
install_license(liblzma ${docs}/liblzma-dev/copyright)
install_license(bzip2 ${docs}/libbz2-dev/copyright)
install_license(fmt ${docs}/libfmt-dev/copyright)
install_license(nlohmann-json ${docs}/nlohmann-json3-dev/copyright)
install_license(CLI11 ${docs}/libcli11-dev/copyright)
install_license(xxhash ${docs}/libxxhash-dev/copyright)
# Static compiler libraries: libstdc++ and libgcc share one text.
string(REGEX MATCH "^[0-9]+" gcc_version "${CMAKE_CXX_COMPILER_VERSION}")
install_license(libstdc++ ${docs}/libstdc++-${gcc_version}-dev/copyright ${docs}/gcc-${gcc_version}-base/copyright)
install_license(libgcc ${docs}/libgcc-${gcc_version}-dev/copyright ${docs}/gcc-${gcc_version}-base/copyright)
if(TARGET CUDA::cudart_static)
  # The toolkit's own folder, NVIDIA's Debian packages, and the toolkit from PyPI.
  file(GLOB cuda_licenses
    ${CUDAToolkit_LIBRARY_ROOT}/EULA.txt
    ${CUDAToolkit_LIBRARY_ROOT}/LICENSE
    ${CUDAToolkit_LIBRARY_ROOT}/dist-info/nvidia_cuda_runtime-*/licenses/License.txt
    ${CUDAToolkit_LIBRARY_ROOT}/../../nvidia_cuda_runtime-*/licenses/License.txt
    ${CUDAToolkit_LIBRARY_ROOT}/../../nvidia_cuda_runtime-*/License.txt
    ${docs}/cuda-cudart-dev-*/copyright)
  install_license(cuda-runtime ${cuda_licenses})
endif()
