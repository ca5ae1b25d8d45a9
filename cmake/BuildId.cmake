# cmake -DSOURCE_DIR=… -DVERSION=… -DOUT=… -P BuildId.cmake: writes a header with "<version>+<hash of the sources>".
# The hash is over the contents and names of the files alone, so that every build of the same sources carries the
# same one, with or without git. The header is touched only when it changes.
file(GLOB_RECURSE files RELATIVE "${SOURCE_DIR}"
  "${SOURCE_DIR}/src/*.h" "${SOURCE_DIR}/src/*.cc" "${SOURCE_DIR}/src/*.c" "${SOURCE_DIR}/src/*.inc"
  "${SOURCE_DIR}/include/*.h" "${SOURCE_DIR}/tools/worker_main.cc")
list(SORT files)
set(sum "")
foreach(file IN LISTS files)
  file(SHA256 "${SOURCE_DIR}/${file}" one)
  string(APPEND sum "${one} ${file}\n")
endforeach()
string(SHA256 hash "${sum}")
string(SUBSTRING "${hash}" 0 12 hash)
set(text "// Made by cmake/BuildId.cmake.\n#pragma once\n#define ANELANE_BUILD_ID \"${VERSION}+${hash}\"\n")
set(old "")
if(EXISTS "${OUT}")
  file(READ "${OUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUT}" "${text}")
endif()
