# Toolchain of scripts/build-macos: macOS from another system, with the tools that scripts/deps --macos provides.
#   -DANELANE_MACOS_ARCH=arm64|x86_64 -DANELANE_MACOS_TOOLS=<folder>
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_VERSION 22.0.0) # of macOS 13
set(CMAKE_SYSTEM_PROCESSOR "${ANELANE_MACOS_ARCH}")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANELANE_MACOS_ARCH ANELANE_MACOS_TOOLS)

set(tools "${ANELANE_MACOS_TOOLS}/${ANELANE_MACOS_ARCH}/bin")
set(CMAKE_C_COMPILER "${tools}/cc")
set(CMAKE_CXX_COMPILER "${tools}/c++")
set(CMAKE_AR "${tools}/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${tools}/ranlib" CACHE FILEPATH "")
# Names are right when they are linked (CMAKE_BUILD_WITH_INSTALL_RPATH); nothing edits a file afterwards, which would break
# its signature.
set(CMAKE_INSTALL_NAME_TOOL "${CMAKE_COMMAND}" CACHE FILEPATH "")

# LLVM's linker signs files for arm64 only, unless it is told to. The engine's service serves nobody without an identity.
add_link_options(-Wl,-adhoc_codesign)

# The compiler driver knows system, machine and the oldest release that is served.
set(CMAKE_OSX_SYSROOT "" CACHE STRING "")
set(CMAKE_OSX_ARCHITECTURES "" CACHE STRING "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "" CACHE STRING "")
set(CMAKE_USER_MAKE_RULES_OVERRIDE "${CMAKE_CURRENT_LIST_DIR}/macos-zig-rules.cmake")

set(CMAKE_FIND_ROOT_PATH "${ANELANE_MACOS_TOOLS}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
