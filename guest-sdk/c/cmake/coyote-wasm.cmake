# CMake toolchain file for guests of coyote-wasm:
#
#     cmake -DCMAKE_TOOLCHAIN_FILE="$(coyote-cc --coyote-cmake)" -B build -S .
#
# coyote-cc and coyote-cxx have to be in the PATH. If coyote-wasm is too, `ctest` explores the programs.

set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_VERSION 1)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")

set(CMAKE_C_COMPILER coyote-cc)
set(CMAKE_CXX_COMPILER coyote-cxx)
# Do not use the headers and libraries of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(COYOTE_WASM coyote-wasm)
if(COYOTE_WASM)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${COYOTE_WASM};test")
endif()
