# What is installed, for whom (components runtime, development, tools), and the packages made of it. Everything is found from
# the place of the files themselves, so that an installed prefix can be moved.
include(CMakePackageConfigHelpers)

install(TARGETS anelane EXPORT anelane-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS anelane-worker RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/anelane" COMPONENT runtime)
install(TARGETS anelane_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/anelane.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
install(FILES "${PROJECT_SOURCE_DIR}/include/anelane.h" "${PROJECT_SOURCE_DIR}/include/anelane.hpp"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/packaging/THIRD-PARTY-LICENSES"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)

# find_package(anelane CONFIG)
set(ANELANE_CONFIG_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/anelane")
set(ANELANE_WORKER_FILE "${CMAKE_INSTALL_LIBEXECDIR}/anelane/anelane-worker")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/anelane-config.cmake.in"
  "${PROJECT_BINARY_DIR}/package/anelane-config.cmake" INSTALL_DESTINATION "${ANELANE_CONFIG_DIR}"
  PATH_VARS ANELANE_WORKER_FILE NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Until 1.0 a new minor version may break programs.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/anelane-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/anelane-config.cmake"
  "${PROJECT_BINARY_DIR}/package/anelane-config-version.cmake" DESTINATION "${ANELANE_CONFIG_DIR}" COMPONENT development)
install(EXPORT anelane-targets NAMESPACE anelane:: DESTINATION "${ANELANE_CONFIG_DIR}" COMPONENT development)

# pkg-config anelane. Folders below the prefix are said from the place of the file.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(ANELANE_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(ANELANE_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(kind LIBDIR INCLUDEDIR LIBEXECDIR)
  set(ANELANE_PC_${kind} "${CMAKE_INSTALL_${kind}}")
  if(NOT IS_ABSOLUTE "${ANELANE_PC_${kind}}")
    string(PREPEND ANELANE_PC_${kind} "\${prefix}/")
  endif()
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/anelane.pc.in" "${PROJECT_BINARY_DIR}/package/anelane.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/anelane.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT development)

# cpack -G DEB: libanelane0, libanelane-dev, anelane-tools; cpack -G TGZ: one archive of all three.
set(CPACK_PACKAGE_NAME anelane)
set(CPACK_PACKAGE_VENDOR "the libanelane maintainers")
set(ANELANE_PACKAGE_CONTACT "the libanelane maintainers <maintainers@localhost>" CACHE STRING "Who answers for the packages: NAME <MAIL>")
set(CPACK_PACKAGE_CONTACT "${ANELANE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Neural Engine lane as an embeddable library")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_FILE_NAME "anelane-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_COMPONENTS_ALL runtime development tools)
set(CPACK_STRIP_FILES ON)
# The same sources give the same packages: nothing of the time or the rights of the build is left in them.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/AnelanePackFiles.cmake")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=") # within one soname, functions are only added
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libanelane0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
file(WRITE "${PROJECT_BINARY_DIR}/package/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/package/triggers")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Neural Engine lane, library and worker
Turns texts into vectors, one model a worker process, with one scheduler that
decides what is compiled and kept, and bounded waits.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libanelane-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libanelane0 (= ${PROJECT_VERSION}-1)")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Neural Engine lane, headers for C and C++
With files for CMake and pkg-config.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME anelane-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libanelane0 (= ${PROJECT_VERSION}-1)")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Neural Engine lane, command-line tool
Embeds texts, describes checkpoints, shows who holds the lane.")
include(CPack)
