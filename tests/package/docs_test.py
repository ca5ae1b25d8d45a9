"""The pages of docs/ and README.md: what they link to is there; their C and C++ compiles, their Python and shell parses, and so do
Rust and Swift where their tools are; the C of docs/waits.md does what the page says; docs/c.md has every status in its table. (The
examples of README.md are readme_test.py's; those of README.md and docs/cpp.md are also built and run from an installed prefix, by
package_test.py. The declarations of docs/api.md are the header's own.)

    docs_test.py SOURCE_DIR
"""
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile

# What parts of programs in C leave to the reader.
C_BEFORE = """#include <anelane.h>
#include <stdio.h>
#include <string.h>
anelane_lane lane;
anelane_model model;
anelane_lease lease;
anelane_op op;
anelane_port ports[8];
anelane_tensor inputs[8], outputs[8];
anelane_error err = {.struct_size = sizeof err};
anelane_status status;
size_t count, n_in, n_out;
const char* texts[1];
float* vectors;
void *user, *x, *y, *total;
uint64_t deadline;
int fd;
int main(void) {
"""
# The same for C++.
CPP_BEFORE = """#include <anelane.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>
using namespace std::chrono_literals;
template <class T> void use(const T&);
template <class T> void report(const T&);
void keep(std::string_view line) noexcept;
void part([[maybe_unused]] const anelane::Lane* lane, [[maybe_unused]] const anelane::Model* model,
          [[maybe_unused]] const std::vector<std::string>& texts) {
"""

# What the example of docs/waits.md leaves to the reader.
BEFORE = """#include <anelane.h>
void show_waiting(uint32_t shape, uint64_t ms);
void sleep_ms(uint64_t ms);
anelane_status embed_with_patience(anelane_model model, const char* const* texts, size_t count, float* out, uint64_t deadline,
                                   anelane_error* err);
"""

# A library of a few lines behind the example: a script of answers, a clock that only sleeping moves, and every call looked at.
AFTER = """
#include <assert.h>
#include <stdio.h>
struct answer { anelane_status status; uint64_t after_ms; };
static const struct answer* script;
static uint64_t now, slept_ms, calls, shown;
static const uint64_t end = 100000000000u; /* 100 s */
uint64_t anelane_now_ns(void) { return now; }
void sleep_ms(uint64_t ms) { slept_ms += ms; now += ms * 1000000u; }
void show_waiting(uint32_t shape, uint64_t ms) { assert(shape == 128 && ms > 0); shown++; }
anelane_status anelane_embed_texts(anelane_model model, const char* const* texts, size_t count, float* out, size_t stride,
                                   anelane_status* statuses, uint64_t deadline, anelane_error* err) {
  const struct answer a = script[calls++];
  (void)model, (void)texts, (void)count, (void)out, (void)stride, (void)statuses;
  assert(deadline == end); /* a batch of minutes is given all of them */
  err->status = a.status;
  err->error_class = a.status == ANELANE_MODEL_INVALID ? ANELANE_PERMANENT : ANELANE_TRANSIENT;
  err->safe_to_retry = 1;
  err->retry_after_ms = a.after_ms;
  err->shape = 128;
  return a.status;
}
static void expect(const struct answer* answers, anelane_status status, uint64_t called, uint64_t slept, uint64_t shows) {
  anelane_error err = {.struct_size = sizeof err};
  const anelane_model model = {1};
  script = answers, now = slept_ms = calls = shown = 0;
  const anelane_status got = embed_with_patience(model, NULL, 0, NULL, end, &err);
  if (got != status || calls != called || slept_ms != slept || shown != shows)
    printf("status %d after %d calls, %d ms and %d shows\\n", (int)got, (int)calls, (int)slept_ms, (int)shown);
}
int main(void) {
  static const struct answer ready[] = {{ANELANE_OK, 0}}, compiling[] = {{ANELANE_SHAPE_COMPILING, 12000}, {ANELANE_OK, 0}};
  static const struct answer mixed[] = {{ANELANE_RESOURCES_EXHAUSTED, 250}, {ANELANE_ENGINE_CRASHED, 1000}, {ANELANE_OK, 0}};
  static const struct answer late[] = {{ANELANE_DEADLINE_EXCEEDED, 250}}, never[] = {{ANELANE_MODEL_INVALID, 0}};
  static const struct answer too_far[] = {{ANELANE_SHAPE_COMPILING, 60000}, {ANELANE_SHAPE_COMPILING, 60000}};
  expect(ready, ANELANE_OK, 1, 0, 0);
  expect(compiling, ANELANE_OK, 2, 12000, 1);
  expect(mixed, ANELANE_OK, 3, 1250, 0);
  expect(late, ANELANE_DEADLINE_EXCEEDED, 1, 0, 0);
  expect(never, ANELANE_MODEL_INVALID, 1, 0, 0);
  expect(too_far, ANELANE_SHAPE_COMPILING, 2, 60000, 1);
  return 0;
}
"""


C = ["cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-D_GNU_SOURCE", "-fsyntax-only", "-x", "c", "-"]
CXX = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "-"]


def fed(command, text):
    """What is wrong with a text, says a compiler that reads it from its input; "" if nothing is."""
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    return "" if run.returncode == 0 else run.stdout + run.stderr or f"{command[0]}: exit code {run.returncode}"


def check_c(source, code):
    whole = code if code.startswith("#include") else C_BEFORE + code + "}\n"
    return fed([*C[:-1], "-I", os.path.join(source, "include"), "-"], whole)


def check_cpp(source, code):
    whole = code if code.startswith("#include") else CPP_BEFORE + code + "}\n"
    return fed([*CXX[:-1], "-I", os.path.join(source, "include"), "-"], whole)


def check_python(_, code):
    try:
        ast.parse(code)
    except SyntaxError as error:
        return str(error)
    return ""


def check_rust(_, code):
    whole = code if "fn main" in code else "async fn part() {\n" + code + "}\n"
    return fed(["rustfmt", "--edition", "2021"], whole) if shutil.which("rustfmt") else ""


def check_swift(_, code):
    swiftc = shutil.which("swiftc") or shutil.which("/opt/swift/usr/bin/swiftc")
    return fed([swiftc, "-frontend", "-parse", "-"], code) if swiftc else ""


CHECKS = {"c": check_c, "cpp": check_cpp, "python": check_python, "rust": check_rust, "swift": check_swift,
          "sh": lambda _, code: fed(["bash", "-n"], code)}
# docs/api.md is checked as a whole; the examples of these pages need what is around them below.
ELSEWHERE = {("docs/api.md", "c"), ("docs/waits.md", "c")}


def main():
    source = sys.argv[1]
    faults, links = [], 0
    pages = ["README.md", *sorted(os.path.join("docs", name) for name in os.listdir(os.path.join(source, "docs")) if name.endswith(".md"))]
    texts = {}
    for page in pages:
        with open(os.path.join(source, page), encoding="utf-8") as f:
            texts[page] = f.read()
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", texts[page], flags=re.DOTALL)):
            if "://" in target:
                continue
            links += 1
            if not os.path.exists(os.path.join(source, os.path.dirname(page), target)):
                faults.append(f"{page} links to {target}, which is not there")
    with open(os.path.join(source, "include/anelane.h"), encoding="utf-8") as f:
        (statuses,) = re.findall(r"typedef int32_t anelane_status;.*?enum \{(.*?)\};", f.read(), re.DOTALL)
    (table,) = re.findall(r"^\| status \|.*?\n\n", texts["docs/c.md"], re.DOTALL | re.MULTILINE)
    named = re.findall(r"`([A-Z_]+)`", table)
    faults += [f"docs/c.md tells {named.count(name)} times what a program does about {name}"
               for name in re.findall(r"\bANELANE_(\w+) = [1-9]", statuses) if named.count(name) != 1]
    blocks = 0
    for page, text in texts.items():
        for language, code in re.findall(r"^```([a-z]+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            if language in CHECKS and (page, language) not in ELSEWHERE and not (page == "docs/cpp.md" and code.startswith("int run_once")):
                blocks += 1
                wrong = CHECKS[language](source, code)
                if wrong:
                    faults.append(f"{page} has {language} that does not compile:\n{code}{wrong}")
    (code,) = re.findall(r"```c\n(.*?)```", texts["docs/waits.md"], re.DOTALL)
    with tempfile.TemporaryDirectory() as temp:
        program = os.path.join(temp, "waits")
        run = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", os.path.join(source, "include"), "-x", "c",
                              "-o", program, "-"], input=BEFORE + code + AFTER, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            faults.append("the example of docs/waits.md does not compile:\n" + run.stderr)
        else:
            run = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
            if run.returncode != 0 or run.stdout:
                faults.append("the example of docs/waits.md is wrong:\n" + run.stdout + run.stderr)
    program, run_once = re.findall(r"```cpp\n((?:#include|int run_once).*?)```", texts["docs/cpp.md"], re.DOTALL)
    code = "#include <cstring>\n#include <vector>\n" + program + run_once
    run = subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", os.path.join(source, "include"),
                          "-x", "c++", "-"], input=code, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        faults.append("the examples of docs/cpp.md do not compile:\n" + run.stderr)
    if faults or links < 5 or blocks < 20:
        sys.exit("\n".join(faults) or f"only {links} links and {blocks} blocks found")
    print(f"{links} links and {blocks} blocks of {len(pages)} pages")


main()
