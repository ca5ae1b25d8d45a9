"""The benchmarks run, and print JSON lines with the figures that scripts/bench promises. No figure is judged."""
import json
import os
import subprocess
import sys

program, schedule_program, source = sys.argv[1:]
model = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(source, "models/all-MiniLM-L6-v2")
for command in ([program, "--fast", model], [program, model, model], [program], [schedule_program, "--fast"], [schedule_program, "--quick", "x"],
                [schedule_program, "--show", "schedule_nothing", "1"]):
    wrong = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if wrong.returncode != 2 or not ("usage: " in wrong.stderr or "schedule_nothing" in wrong.stderr):
        sys.exit(f"{command}: exit {wrong.returncode}, not 2 with the usage: {wrong.stderr}")
run = subprocess.run([program, "--quick", model], check=True, capture_output=True, text=True, timeout=500)
lines = [json.loads(line) for line in run.stdout.splitlines()]
names = [line["bench"] for line in lines]
expected = ["build", "lease_release", "lease_two_threads_two_shapes", "lease_two_threads_one_shape", "cancel_many",
            "cancel_while_a_compile_hangs", "run_mapped", "run_plain", "close",
            *["embed"] * 4, "admission"]
if names != expected:
    sys.exit(f"expected {expected}, got {names}")
for line in lines:
    for key, value in line.items():
        # On a busy machine two threads may never have run at once.
        if key not in ("bench", "version", "quick", "at_once_percent") and not value > 0:
            sys.exit(f"{key} is {value} in {line}")

run = subprocess.run([schedule_program, "--quick"], check=True, capture_output=True, text=True, timeout=100)
lines = [json.loads(line) for line in run.stdout.splitlines()]
kinds = {"schedule": "compile_gate_idle_percent", "retry": "kept_percent"}
for line in lines:
    kind, figure = next((k, f) for k, f in kinds.items() if line["bench"].startswith(k + "_"))
    if not 0 <= line[figure] <= 100:
        sys.exit(f"{figure} is missing or no share in {line}")
count = {kind: sum(line["bench"].startswith(kind + "_") for line in lines) for kind in kinds}
if count != {"schedule": 8, "retry": 11}:
    sys.exit(f"expected 8 schedules and 11 figures of retry_after_ms, got {count}")
shown = subprocess.run([schedule_program, "--show", "schedule_mixed_some_cached", "90"], check=True, capture_output=True,
                       text=True, timeout=100).stdout.splitlines()
if len(shown) < 3 or any(len(line.split()) != len(shown[1].split()) for line in shown[1:]):
    sys.exit(f"no table of a workload: {shown}")
