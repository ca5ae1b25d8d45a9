"""The pages of docs/ and README.md: what they link to is there, and the C of docs/waits.md compiles and does what the page says. (The examples of README.md and
docs/cpp.md are built and run by package_test.py.)

    docs_test.py SOURCE_DIR
"""
import os
import re
import subprocess
import sys
import tempfile

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
    if faults or links < 5:
        sys.exit("\n".join(faults) or f"only {links} links found")
    print(f"{links} links of {len(pages)} pages")


main()
