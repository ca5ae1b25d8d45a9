# The files with kernels for newer processors may define nothing that another file could share: an inline
# function compiled with their flags could be the copy that the linker keeps for everybody, and an older
# processor would meet instructions that it does not have. Run as: cmake -DNM=… -DOBJECTS=… -P this.
set(seen 0)
foreach(object IN LISTS OBJECTS)
  if(NOT object MATCHES "kernels_(avx2|avx512|baseline)")
    continue()
  endif()
  math(EXPR seen "${seen} + 1")
  execute_process(COMMAND "${NM}" -C "${object}" OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "cannot list the symbols of ${object}")
  endif()
  # Lines are "address kind name"; W, V, u, w and v are shared or weak.
  string(REGEX MATCHALL "[^\n]* [WVuwv] [^\n]*" shared "${symbols}")
  if(shared)
    message(FATAL_ERROR "${object} shares symbols with other files:\n${shared}")
  endif()
endforeach()
if(seen EQUAL 0)
  message(FATAL_ERROR "no kernel object among: ${OBJECTS}")
endif()
