# Run by CPack between install and packaging. Rights do not come from the builder's umask, and every file gets
# SOURCE_DATE_EPOCH as its time where that is set: the same sources give the same packages. Debian packages get what Debian
# asks for: copyright and changelog in each, compressed manual pages, no search path in programs.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(license "/usr/share/common-licenses/Apache-2.0")
  file(READ "${CMAKE_CURRENT_LIST_DIR}/../packaging/THIRD-PARTY-LICENSES" others)
  string(REPLACE " in LICENSE" " in ${license}" others "${others}")
  string(TIMESTAMP moment "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH
  foreach(package "runtime:libanelane0" "development:libanelane-dev" "tools:anelane-tools")
    string(REPLACE ":" ";" package "${package}")
    list(GET package 0 component)
    list(GET package 1 name)
    file(GLOB root LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr")
    if(NOT root)
      continue()
    endif()
    file(REMOVE_RECURSE "${root}/share/doc/anelane") # the same is in the copyright file
    set(doc "${root}/share/doc/${name}")
    file(WRITE "${doc}/copyright" "libanelane is copyright of its contributors, and licensed under the Apache License, Version 2.0.\n"
      "On Debian systems its text is in ${license}.\n\n${others}")
    file(WRITE "${doc}/changelog.Debian" "anelane (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
      "  * The release ${CPACK_PACKAGE_VERSION}; see changelog.gz of libanelane0.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${moment}\n")
    if(component STREQUAL "runtime")
      configure_file("${CMAKE_CURRENT_LIST_DIR}/../CHANGELOG.md" "${doc}/changelog" COPYONLY)
    elseif(component STREQUAL "tools")
      file(RPATH_REMOVE FILE "${root}/bin/anelane") # its library is in the loader's own folders
    endif()
  endforeach()
  file(GLOB_RECURSE pages "${CPACK_TEMPORARY_DIRECTORY}/*.1" "${CPACK_TEMPORARY_DIRECTORY}/changelog*")
  foreach(page IN LISTS pages)
    execute_process(COMMAND gzip -9nf "${page}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
file(GLOB_RECURSE files LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*")
foreach(file IN LISTS files)
  if(IS_SYMLINK "${file}")
    continue()
  endif()
  if(IS_DIRECTORY "${file}" OR file MATCHES "/(anelane|anelane-worker)$")
    file(CHMOD "${file}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  else()
    file(CHMOD "${file}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endif()
endforeach()
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find "${CPACK_TEMPORARY_DIRECTORY}" -exec touch -h -d "@$ENV{SOURCE_DATE_EPOCH}" "{}" +
    COMMAND_ERROR_IS_FATAL ANY)
endif()
