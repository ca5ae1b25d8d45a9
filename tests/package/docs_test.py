"""The pages of docs/ and README.md: what they link to is there, and the C of docs/waits.md compiles. (The examples of README.md and
docs/cpp.md are built and run by package_test.py.)

    docs_test.py SOURCE_DIR
"""
import os
import re
import subprocess
import sys

# What the example of docs/waits.md leaves to the reader.
BEFORE = """#include <anelane.h>
void show_waiting(uint32_t shape, uint64_t ms);
void sleep_ms(uint64_t ms);
anelane_status embed_with_patience(anelane_model model, const char* const* texts, size_t count, float* out, uint64_t deadline,
                                   anelane_error* err);
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
    run = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I",
                          os.path.join(source, "include"), "-x", "c", "-"], input=BEFORE + code, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        faults.append("the example of docs/waits.md does not compile:\n" + run.stderr)
    if faults or links < 5:
        sys.exit("\n".join(faults) or f"only {links} links found")
    print(f"{links} links of {len(pages)} pages")


main()
