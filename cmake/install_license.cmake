# Installs the license of a library: from TUNDISH_LICENSES under the library's name, or from the
# first existing path of the rest. Without all licenses, a wheel must not be distributed.
set(TUNDISH_LICENSES "" CACHE PATH "folder with a license text per linked library, on systems other than Debian")
function(install_license name)
  foreach(path ${TUNDISH_LICENSES}/${name} ${ARGN})
    if(EXISTS ${path} AND NOT IS_DIRECTORY ${path})
      install(FILES ${path} DESTINATION ${SKBUILD_METADATA_DIR}/licenses/linked RENAME ${name} COMPONENT wheel)
      return()
    endif()
  endforeach()
  list(JOIN ARGN ", " looked_at)
  message(FATAL_ERROR "The license of ${name}, which is linked in, was not found (looked at: ${looked_at}). "
    "fix: put its text into a folder as the file '${name}' and pass -DTUNDISH_LICENSES=FOLDER")
endfunction()
