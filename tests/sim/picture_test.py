"""Pictures of histories: well-formed, with a row for each worker, a span for each admission, eviction and inference of the log,
and a line for each request that says what it waited for. And the simulator's own usage."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

program, source = sys.argv[1:]
SVG = "{http://www.w3.org/2000/svg}"
WORKLOAD = {
    "options": {"executable_budget": 28, "shapes_per_model": 2, "shapes_total": 3},
    "models": [
        {"name": "wide <&\">", "layers": 22, "ladder": [128, 256], "seed_ms": {"128": 6000, "256": 9000},
         "true_ms": {"128": 6000, "256": 9000}, "cached": [128], "load_ms": {"128": 440}, "evict_ms": 200},
        {"name": "B", "layers": 6, "ladder": [128, 512], "seed_ms": {"128": 900, "512": 2500},
         "true_ms": {"128": 1000, "512": 2400}, "evict_ms": 100}],
    "events": [
        {"t": 0, "op": "request", "id": 1, "model": "wide <&\">", "shape": 256, "hold_ms": 3000},
        {"t": 200, "op": "request", "id": 2, "model": "B", "shape": 128, "hold_ms": 400},
        {"t": 1000, "op": "request", "id": 3, "model": "wide <&\">", "shape": 128, "hold_ms": 800},
        {"t": 2000, "op": "request", "id": 4, "model": "B", "shape": 512, "deadline": 3000},
        {"t": 2500, "op": "request", "id": 5, "model": "B", "shape": 512},
        {"t": 4000, "op": "cancel", "id": 5},
        {"t": 30000, "op": "fault", "model": "B", "kind": "error"},
        {"t": 31000, "op": "fault", "model": "B", "kind": "crash", "exit_after_ms": 1500, "restart_ms": 900},
        {"t": 31500, "op": "request", "id": 6, "model": "B", "shape": 128, "hold_ms": 300}],
    "until": 60000}


def check(holds, what):
    if not holds:
        sys.exit(what)


def run(*arguments, expect=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)
    check(done.returncode == expect, f"{arguments}: exit {done.returncode}, not {expect}: {done.stderr}")
    return done


def counts(root):
    return collections.Counter(e.get("class") for e in root.iter())


with tempfile.TemporaryDirectory() as folder:
    workload, picture = os.path.join(folder, "workload.json"), os.path.join(folder, "picture.svg")
    with open(workload, "w") as file:
        json.dump(WORKLOAD, file)
    log = [json.loads(line) for line in run("--workload", workload, "--json", "--picture", picture).stdout.splitlines()]
    root = ElementTree.parse(picture).getroot()
    seen = counts(root)
    events = collections.Counter(line["ev"] + " " + line.get("outcome", "") for line in log)
    check(events["admit_end compiled"] >= 2 and events["admit_end loaded"] >= 1 and events["evict_end "] >= 1,
          f"the workload has lost its point: {events}")
    for cls, ends in (("span compile", "admit_end compiled"), ("span load", "admit_end loaded"), ("span evict", "evict_end ")):
        check(seen[cls] == events[ends], f"{seen[cls]} of '{cls}', but the log has {events[ends]}")
    holds = {event["id"] for event in WORKLOAD["events"] if "hold_ms" in event}
    served = sum(line["ev"] == "release" and line["id"] in holds for line in log)
    check(seen["span infer"] == served > 0, f"{seen['span infer']} inferences, not {served}")
    check(seen["worker"] == 2 and seen["span down"] == 1, f"rows: {seen}")
    check(seen["request"] == sum(e["op"] == "request" for e in WORKLOAD["events"]), f"requests: {seen}")
    check([e.get("id") for e in root.iter() if e.get("class") == "chart"] == ["queue", "budget"], "charts")
    for end in ("end end-leased", "end end-later", "end end-cancelled"):
        check(seen[end] > 1, f"no {end} besides the legend's")  # one stands in the legend
    titles = [e.text for e in root.iter(SVG + "title")]
    for words in ("wide <&\">:256 compiled, 0.050 s to 9.050 s, 9.000 s", "#2, 0.200 s to 9.050 s: meanwhile admission of wide <&\">:256",
                  "#6, 31.500 s to 33.400 s: its worker has no working process", "B will answer its next admission with an error at 30.000 s"):
        check(words in titles, f"nothing says '{words}', but:\n" + "\n".join(titles))
    # A part of it: only what can be seen there.
    run("--workload", workload, "--picture", picture, "--from", "20", "--to", "25")
    part = counts(ElementTree.parse(picture).getroot())
    check(part["worker"] == 2 and part["span compile"] == 0, f"from 20 s to 25 s: {part}")

    for seed in range(1, 21):
        log = run("--seed", str(seed), "--events", "120", "--picture", picture).stdout.splitlines()
        asks = sum(" asks for " in line for line in log)
        drawn = counts(ElementTree.parse(picture).getroot())["request"]
        check(0 < drawn <= asks, f"seed {seed}: {drawn} requests drawn, {asks} in the timeline")

    # A seed's picture goes as far as its text, the time after the faults are healed too.
    log = run("--seed", "3", "--picture", picture).stdout.splitlines()
    titles = [e.text or "" for e in ElementTree.parse(picture).getroot().iter(SVG + "title")]
    waiting = [title for title in titles if "still waiting" in title and title != "still waiting"]  # but for the legend's
    check(not waiting, f"{len(waiting)} drawn as waiting, while the text tells their end, such as {waiting[:1]}")
    for words, drawn in ((" compiled in ", " compiled, "), (" leases ", " leased")):
        told = sum(words in line for line in log)
        count = sum(drawn in title for title in titles)
        check(count >= told > 0, f"the text has {told} '{words}', the picture {count} '{drawn}'")
    last = max(float(line.split()[0]) for line in log if " compiled in " in line)
    check(any(f"to {last:.3f} s" in title for title in titles), f"nothing is drawn that ends at {last} s, as the text says")

    # A seed of what a file can say is the history of the file.
    for storm in ((), ("--storm",)):
        for seed in ("3", "8"):
            with open(workload, "w") as file:
                file.write(run("--seed", seed, *storm, "--write-workload").stdout)
            check(run("--workload", workload).stdout == run("--seed", seed, *storm, "--plain").stdout,
                  f"seed {seed} {storm}: the written workload is another history")

text = run("--workload", "/dev/null", expect=2).stderr
check("/dev/null" in text, text)
help_text = run("--help").stdout
check("--picture" in help_text, "--help does not tell of --picture")
# The script's help is the program's, without a build.
told = subprocess.run([os.path.join(source, "scripts/sim"), "--help"], capture_output=True, text=True, timeout=20,
                      env=dict(os.environ, ANELANE_BUILD_DIR="/nowhere"))
check(told.returncode == 0 and told.stdout.endswith("\n" + help_text), f"scripts/sim --help: {told.returncode} {told.stdout}{told.stderr}")
example = next(word.rstrip(";") for word in help_text.split() if word.startswith("examples/sim/"))
text = run("--workload", os.path.join(source, example)).stdout
for words in ("large  128 loaded from the cache", "other  256 compiled", "small  512 is being evicted", "small  crashes", "again in"):
    check(words in text, f"the example workload no longer shows '{words}'")
check("no option --pictur" in run("--pictur", "x", expect=2).stderr, "a wrong option is not named")
check("needs a value" in run("--seed", "1", "--picture", expect=2).stderr, "--picture without a file")
check("own limit" in run("--check", "--world", "nowhere", expect=2).stderr, "a wrong world is not named")
check("there are no more" in run("--check", "--world", "least recently used").stdout, "--check of one small world")
for arguments in (("--seed", "abc"), ("--seeds", "abc"), ("--seed", "-1"), ("--seeds", "0"), ("--seed", "3x"), ("--seed", "1", "--events", "many"),
                  ("--seed", "99999999999999999999"), ("--seed", "1", "--to", "soon"), ("--seed", "1", "--from", "-2"), ("--check", "--depth", "0")):
    text = run(*arguments, expect=2).stderr
    check(f'{arguments[-2]} "{arguments[-1]}": expected' in text, f"{arguments}: {text}")
for arguments, words in ((("--seed", "--json"), "--seed needs a value"), (("--json", "x", "--seed", "1"), "no option x"), ((), "expected --workload"),
                         (("--seed", "1", "--check"), "exclude each other"), (("--seed", "1", "--from", "5", "--to", "4"), "--from must be before")):
    text = run(*arguments, expect=2).stderr
    check(words in text, f"{arguments}: {text}")
