# anelane_module(NAME SOURCES … DEPS …): one folder of src/ as a static library `anelane_NAME`.
function(anelane_module name)
  cmake_parse_arguments(M "" "" "SOURCES;DEPS" ${ARGN})
  add_library(anelane_${name} STATIC ${M_SOURCES})
  target_link_libraries(anelane_${name} PUBLIC anelane_flags ${M_DEPS})
endfunction()

# anelane_unit_test(NAME SOURCES … DEPS … [TIMEOUT s]): a GoogleTest program, every case known to ctest.
function(anelane_unit_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(${name} ${T_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${name} PRIVATE anelane_flags ${T_DEPS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ANELANE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    ANELANE_BUILD_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${T_TIMEOUT})
endfunction()
