# Everything from outside. Versions and checksums of what is built from source stand in scripts/deps.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
if(ANELANE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
