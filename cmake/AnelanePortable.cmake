# Library, worker and tool for machines that nobody knows: Python wheels and the release's archive for Linux are made of them. The
# same objects as everything else, linked so that they need glibc and libgcc_s and nothing else: libstdc++ and the five objects of
# libcrypto that SHA-256 takes are inside, hidden. libgcc_s stays outside on purpose: it unwinds through the frames of the whole
# process, and comes with every glibc. They are in portable/ of the build folder, which is not there where they cannot be made: on
# the Mac (whose files need nothing but libSystem anyway), under sanitizers, with a system's libuv, and without a static libcrypto.
set(ANELANE_PORTABLE_DIR "${CMAKE_BINARY_DIR}/portable")
if(APPLE OR ANELANE_SANITIZE OR ANELANE_SYSTEM_LIBUV OR NOT ANELANE_STATIC_LIBCRYPTO)
  file(REMOVE_RECURSE "${ANELANE_PORTABLE_DIR}")
  add_custom_target(portable DEPENDS anelane anelane-worker anelane_tool)
  return()
endif()

# anelane_link_portable(TARGET OUTPUT_NAME). Unused sections go: the whole of libstdc++ would need a newer glibc than its used part.
function(anelane_link_portable target name)
  target_link_options(${target} PRIVATE -static-libstdc++ LINKER:--gc-sections LINKER:--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES ANELANE_PORTABLE ON OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${ANELANE_PORTABLE_DIR}" LIBRARY_OUTPUT_DIRECTORY "${ANELANE_PORTABLE_DIR}")
endfunction()

add_library(anelane_portable SHARED $<TARGET_OBJECTS:anelane>)
target_link_libraries(anelane_portable PRIVATE anelane_lane anelane_worker)
anelane_link_portable(anelane_portable anelane)
set_target_properties(anelane_portable PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS "$<TARGET_PROPERTY:anelane,LINK_DEPENDS>")
target_link_options(anelane_portable PRIVATE "$<TARGET_PROPERTY:anelane,LINK_OPTIONS>")

add_executable(anelane_worker_portable $<TARGET_OBJECTS:anelane-worker>)
target_link_libraries(anelane_worker_portable PRIVATE anelane_worker_doctor anelane_worker_loop)
anelane_link_portable(anelane_worker_portable anelane-worker)

add_executable(anelane_tool_portable $<TARGET_OBJECTS:anelane_tool> $<TARGET_OBJECTS:anelane_tool_parts>)
target_link_libraries(anelane_tool_portable PRIVATE anelane_portable ${CMAKE_DL_LIBS})
anelane_link_portable(anelane_tool_portable anelane)
set_target_properties(anelane_tool_portable PROPERTIES BUILD_WITH_INSTALL_RPATH ON
  INSTALL_RPATH "$<TARGET_PROPERTY:anelane_tool,INSTALL_RPATH>")

add_custom_target(portable DEPENDS anelane_portable anelane_worker_portable anelane_tool_portable)
