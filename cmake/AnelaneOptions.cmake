# Build options and the flags that every target gets.
option(ANELANE_BUILD_TESTS "Build the tests" ON)
option(ANELANE_SYSTEM_LIBUV "Link the system's libuv instead of the private static one" OFF)
option(ANELANE_FUZZ "Build the libFuzzer programs of tests/fuzz (clang only; scripts/fuzz)" OFF)
option(ANELANE_FAULT_POINTS "Compile in the fault points that the fault tests switch on" OFF)
set(ANELANE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them (address,undefined or thread)")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The library, the worker and the tool stand side by side at the top of the build folder.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")

add_library(anelane_flags INTERFACE)
# No contraction: the same source must give the same bits with every compiler (scheduler, numerics).
target_compile_options(anelane_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror -ffp-contract=off
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wthread-safety>
  # gcc 12 sees overlaps in std::string concatenation that are not there (gcc bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
target_compile_definitions(anelane_flags INTERFACE $<$<BOOL:${ANELANE_FAULT_POINTS}>:ANELANE_FAULT_POINTS=1>)
target_include_directories(anelane_flags INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
if(ANELANE_SANITIZE)
  # The vptr check needs a free descriptor to look at memory: it fails in the tests of a host that has none left.
  target_compile_options(anelane_flags INTERFACE -fsanitize=${ANELANE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -fno-sanitize=vptr
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>) # false alarms under sanitizers, says gcc's manual
  target_link_options(anelane_flags INTERFACE -fsanitize=${ANELANE_SANITIZE})
endif()
