# Where the licence of a library is: in TUNDISH_LICENCES under the library's name, or at the first
# existing one of the paths that follow. A wheel without one of them may not be given away.
set(TUNDISH_LICENCES "" CACHE PATH "folder with a licence text per linked library, on systems other than Debian")
function(install_licence name)
  foreach(path ${TUNDISH_LICENCES}/${name} ${ARGN})
    if(EXISTS ${path} AND NOT IS_DIRECTORY ${path})
      install(FILES ${path} DESTINATION ${SKBUILD_METADATA_DIR}/licenses/linked RENAME ${name} COMPONENT wheel)
      return()
    endif()
  endforeach()
  list(JOIN ARGN ", " looked_at)
  message(FATAL_ERROR "The licence of ${name}, which is linked in, was not found (looked at: ${looked_at}). "
    "fix: put its text into a folder as the file '${name}' and pass -DTUNDISH_LICENCES=FOLDER")
endfunction()
