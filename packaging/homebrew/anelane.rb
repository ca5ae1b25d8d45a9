# The formula for Homebrew. scripts/release fills in the words between @ signs and puts the result into dist/; it builds from
# that release's source archive, with Homebrew's own libuv.
class Anelane < Formula
  desc "Neural Engine lane of this machine, as an embeddable library"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "xxhash" => :build
  depends_on "libuv"
  depends_on "openssl@3"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DANELANE_BUILD_TESTS=OFF",
                    "-DANELANE_SYSTEM_LIBUV=ON", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"test.c").write <<~C
      #include <anelane.h>
      int main(void) { return anelane_abi_version() == ANELANE_ABI_VERSION ? 0 : 1; }
    C
    system ENV.cc, "test.c", "-I#{include}", "-L#{lib}", "-lanelane", "-o", "test"
    system "./test"
    system bin/"anelane", "selftest", "--engine", "soft"
  end
end
