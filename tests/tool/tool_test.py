"""The anelane command as its users run it: output, exit codes, errors, terminals.

Run by ctest with ANELANE_BUILD_DIR and ANELANE_SOURCE_DIR in the environment; each class is one ctest case. The model is
ANELANE_TEST_MODEL or the one that scripts/fetch-model brings. Every class uses a lane of its own, so nobody is disturbed.
"""
import fcntl
import json
import math
import os
import pty
import re
import select
import signal
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.environ["ANELANE_BUILD_DIR"]
TOOL = os.path.join(BUILD, "anelane")
SOURCE = os.environ["ANELANE_SOURCE_DIR"]
MODEL = os.environ.get("ANELANE_TEST_MODEL") or os.path.join(SOURCE, "models/all-MiniLM-L6-v2")
DONE, REFUSED, USAGE, TRY_LATER = 0, 1, 2, 75
BOUND_S = 300  # against hanging


class ToolCase(unittest.TestCase):
    """A lane, a cache and a scratch folder for each class."""

    @classmethod
    def setUpClass(cls):
        if not os.path.isfile(os.path.join(MODEL, "model.safetensors")):
            raise unittest.TestCase.failureException(f"no model in {MODEL}: run scripts/fetch-model")
        cls.temp = tempfile.mkdtemp(prefix="anelane-tool-test-")
        cls.lane = ["--lock-dir", cls.make("lane"), "--cache-dir", cls.make("cache")]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.temp)

    @classmethod
    def make(cls, name):
        path = os.path.join(cls.temp, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o700)
        return path

    def write(self, name, content):
        path = os.path.join(self.temp, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def write_crashes(self, lane, model, crashes, held_s=0):
        """One more model in the lane's book of crashes (src/lane/crash_book.h), which crashed just now."""
        path, now = os.path.join(lane, "lane.crashes.json"), int(time.time() * 1000)
        models = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                models = json.load(f)["models"]
        models.append({"key": model, "name": model, "crashes_unix_ms": [now] * crashes,
                       "held_until_unix_ms": held_s and now + held_s * 1000})
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"models": models}, f)

    def tool(self, *arguments, stdin=b"", environment=None):
        """(exit code, stdout, stderr)."""
        run = subprocess.run([TOOL, *arguments], input=stdin, capture_output=True, timeout=BOUND_S, check=False,
                             env={**os.environ, **(environment or {})})
        return run.returncode, run.stdout.decode(), run.stderr.decode()

    def embed(self, *arguments, stdin=b""):
        """The JSON of a call that must succeed."""
        code, out, err = self.tool("embed", "--model", MODEL, "--json", *self.lane, *arguments, stdin=stdin)
        self.assertEqual((code, err), (DONE, ""))
        return json.loads(out)

    def refused(self, expected_code, *arguments, stdin=b""):
        """stderr of a call that must fail, and print no vector."""
        code, out, err = self.tool(*arguments, stdin=stdin)
        self.assertEqual((code, out), (expected_code, ""), err)
        return err


class Embed(ToolCase):
    def test_json_has_exactly_the_documented_members(self):
        result = self.embed("--text", "one", "--text", "two")
        self.assertEqual(list(result), ["model", "engine", "dim", "embeddings"])
        self.assertNotIn(" ", self.tool("embed", "--model", MODEL, "--json", *self.lane, "--text", "one")[1])
        self.assertEqual(result["model"], "all-MiniLM-L6-v2")
        self.assertIn(result["engine"], ("soft", "apple"))
        self.assertEqual(result["dim"], 384)
        self.assertEqual([len(row) for row in result["embeddings"]], [384, 384])
        for row in result["embeddings"]:
            self.assertAlmostEqual(math.fsum(x * x for x in row), 1, places=4)

    def test_texts_come_before_files_and_order_is_kept(self):
        first = self.write("first.txt", b"delta\nalpha\n")
        texts = ["beta", "", "alpha", "delta", "alpha", "gamma"]
        mixed = self.embed("--file", first, "--text", "beta", "--file", "-", "--text", "", "--text", "alpha",
                           stdin="gamma".encode())["embeddings"]
        each = {text: self.embed("--text", text)["embeddings"][0] for text in set(texts)}
        self.assertEqual(mixed, [each[text] for text in texts])

    def test_texts_that_look_like_something_else_arrive_unchanged(self):
        # The command line parser must not take brackets, braces, quotes, dashes or commas for its own.
        hard = ["[a,b]", "{}", "\"quoted\"", "'single'", "a,b", "--json", "-x", "%%", "a=b", "[]", "\\n", "ünï €😀", " pad "]
        file = self.write("hard.txt", "\n".join(hard).encode())
        arguments = [part for text in hard for part in ("--text=" + text,)]
        self.assertEqual(self.embed(*arguments)["embeddings"], self.embed("--file", file)["embeddings"])

    def test_text_as_a_word_of_its_own_may_begin_with_a_bracket(self):
        self.assertEqual(self.embed("--text", "[a,b]", "--text", "{}")["embeddings"],
                         self.embed("--text=[a,b]", "--text={}")["embeddings"])

    def test_human_output_has_one_line_for_each_text(self):
        code, out, err = self.tool("embed", "--model", MODEL, *self.lane, "--text", "hello", "--text", "x" * 100)
        self.assertEqual((code, err), (DONE, ""))
        lines = out.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], r"^all-MiniLM-L6-v2 on the (soft|apple) engine: 384 numbers for each text$")
        self.assertRegex(lines[1], r'^"hello":( [ -]0\.\d{5}){6} …  length 1\.0000')
        self.assertRegex(lines[2], r'^"x{40}…":')

    def test_thread_mode_gives_the_same_vectors(self):
        self.assertEqual(self.embed("--text", "same", "--worker-mode", "thread"),
                         self.embed("--text", "same", "--worker-mode", "process"))

    def test_folders_may_be_relative(self):
        self.make("here")
        run = subprocess.run([TOOL, "embed", "--model", os.path.relpath(MODEL, self.temp), "--json", "--text", "x", "--lock-dir",
                              "here", "--cache-dir", "here/cache"], cwd=self.temp, capture_output=True, timeout=BOUND_S, check=False)
        self.assertEqual((run.returncode, run.stderr), (DONE, b""))
        self.assertTrue(os.listdir(os.path.join(self.temp, "here/cache")))

    def test_a_full_disk_is_not_success(self):
        with open("/dev/full", "wb") as full:
            run = subprocess.run([TOOL, "embed", "--model", MODEL, "--json", *self.lane, "--text", "x"], stdout=full,
                                 stderr=subprocess.PIPE, timeout=BOUND_S, check=False)
        self.assertEqual(run.returncode, REFUSED)
        self.assertIn(b"cannot write the output", run.stderr)


class Stats(ToolCase):
    LINE = (r"ane-direct shape admission: shape=128 layers_loaded=6 cache_hit=(\d+) compiled=(\d+) total_ms=[\d.]+ "
            r"outcome=admitted")

    def admission(self):
        code, out, err = self.tool("embed", "--model", MODEL, "--json", "--stats", *self.lane, "--text", "x")
        self.assertEqual(code, DONE, err)
        lines = [line for line in err.splitlines() if "shape admission" in line]
        self.assertEqual(len(lines), 1, err)
        self.assertRegex(lines[0], self.LINE)
        return lines[0], json.loads(out)

    def test_l8_4_second_process_compiles_nothing_and_gives_the_same_bits(self):
        cold, vectors = self.admission()
        self.assertIn("cache_hit=0 compiled=6 ", cold)
        cached, again = self.admission()
        self.assertIn("cache_hit=6 compiled=0 ", cached)
        self.assertEqual(vectors, again)


class Usage(ToolCase):
    """What the command line itself answers: help, versions, and mistakes that name the word."""

    def usage(self, *arguments):
        """stderr of a call with a mistake in it: one line, and it says who speaks."""
        code, out, err = self.tool(*arguments)
        self.assertEqual((code, out), (USAGE, ""), err)
        self.assertRegex(err, r"^anelane: [^\n]{1,200}\n$")
        return err

    def test_deadlines_that_are_none(self):
        for wrong in ("abc", "-1", "1.5", "1e3", "0x10", " 1", "99999999999999999999"):
            with self.subTest(wrong=wrong):
                err = self.usage("embed", "--model", MODEL, "--text", "x", "--deadline-ms=" + wrong)
                self.assertIn(f"--deadline-ms: expected whole milliseconds, got '{wrong}'", err)
        self.assertIn("'-1'", self.usage("embed", "--model", MODEL, "--text", "x", "--deadline-ms", "-1"))

    def test_an_unknown_command_is_named_with_those_there_are(self):
        err = self.usage("frob", "--text", "x")
        for word in ("'frob'", "embed", "describe", "selftest", "version"):
            self.assertIn(word, err)
        self.assertIn("--frob", self.usage("embed", "--model", MODEL, "--text", "x", "--frob"))
        self.assertIn("'--frob'", self.usage("--frob"))

    def test_mistakes_name_the_command_to_ask_for_help(self):
        self.assertIn("see anelane embed --help", self.usage("embed", "--text", "x"))
        self.assertIn("see anelane --help", self.usage())
        self.assertIn("expected apple|auto|soft, got 'warp'",
                      self.usage("embed", "--model", MODEL, "--text", "x", "--engine", "warp"))

    def test_version_as_flag_and_as_command(self):
        self.assertEqual(self.tool("--version"), self.tool("version"))
        self.assertRegex(self.tool("--version")[1], r"^anelane \d+\.\d+\.\d+\S* \(interface \d+\)\n$")

    def test_the_loader_is_sent_to_no_current_folder(self):
        """An empty entry of the run path is the current folder, in which anybody may have put a library."""
        for file in (TOOL, os.path.join(BUILD, "anelane-worker"), os.path.join(BUILD, "libanelane.so")):
            told = subprocess.run(["readelf", "-dW", file], capture_output=True, text=True, check=True).stdout
            for path in re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", told):
                self.assertTrue(all(entry.startswith("$ORIGIN") for entry in path.split(":")), f"{file}: {path}")

    def test_every_command_stands_in_the_manual_page(self):
        def commands(*before):
            out = self.tool(*before, "--help")[1]
            return re.findall(r"^  ([a-z]+) +\S", out.split("Subcommands:")[1], re.MULTILINE) if "Subcommands:" in out else []
        with open(os.path.join(SOURCE, "packaging/anelane.1"), encoding="utf-8") as f:
            page = f.read()
        names = commands()
        self.assertIn("mil", names)
        for name in names:
            for whole in [f"{name} {inner}" for inner in commands(name)] or [name]:
                self.assertRegex(page, rf"(?m)^\.B anelane {whole}\b")  # in the synopsis
                self.assertRegex(page, rf"(?m)^\.TP\n\.B {whole}$")  # with its description

    def test_help_in_both_spellings(self):
        for command in ([], ["embed"], ["describe"], ["ps"], ["selftest"], ["version"]):
            code, out, err = self.tool(*command, "-h")
            self.assertEqual((code, err), (DONE, ""))
            self.assertIn("Usage: anelane" + "".join(" " + c for c in command), out)
            self.assertEqual((code, out, err), self.tool(*command, "--help"))

    def test_help_and_versions_that_cannot_be_written_are_no_success(self):
        for arguments in (["--help"], ["embed", "-h"], ["--version"], ["version"], ["describe", "--model", MODEL]):
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                run = subprocess.run([TOOL, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=BOUND_S, check=False)
                self.assertEqual(run.returncode, REFUSED)
                self.assertIn(b"anelane: cannot write the output", run.stderr)


class Refusals(ToolCase):
    def test_wrong_usage(self):
        for arguments in ([], ["embed"], ["embed", "--text", "x"], ["embed", "--model", MODEL], ["no-such-command"],
                          ["embed", "--model", MODEL, "--text", "x", "--engine", "warp"],
                          ["embed", "--model", MODEL, "--text", "x", "--engine", "1"],
                          ["embed", "--model", MODEL, "--text", "x", "--deadline-ms", "soon"],
                          ["embed", "--model", MODEL, "--text", "x", "--deadline-ms", "-1"],
                          ["embed", "--model", MODEL, "--text", "x", "--worker-mode", "fork"], ["version", "extra"]):
            with self.subTest(arguments=arguments):
                code, _, err = self.tool(*arguments)
                self.assertEqual(code, USAGE)
                self.assertNotEqual(err, "")

    def test_file_faults_name_the_line(self):
        bad = self.write("bad.txt", b"fine\nnot \xff fine\n")
        nul = self.write("nul.txt", b"a\nb\nc\0d\n")
        empty = self.write("empty.txt", b"")
        base = ["embed", "--model", MODEL, *self.lane, "--file"]
        self.assertIn("bad.txt:2: byte 5 is not valid UTF-8", self.refused(REFUSED, *base, bad))
        self.assertIn("nul.txt:3: byte 2 is NUL", self.refused(REFUSED, *base, nul))
        self.assertIn("empty.txt holds no line", self.refused(REFUSED, *base, empty))
        self.assertIn("No such file", self.refused(REFUSED, *base, os.path.join(self.temp, "none.txt")))
        self.assertIn("standard input:1: byte 1", self.refused(REFUSED, *base, "-", stdin=b"\xfe"))

    def test_invalid_utf8_on_the_command_line(self):
        run = subprocess.run([TOOL.encode(), b"embed", b"--model", MODEL.encode(), b"--text", b"ok", b"--text", b"a\xff"],
                             capture_output=True, timeout=BOUND_S, check=False)
        self.assertEqual((run.returncode, run.stdout), (REFUSED, b""))
        self.assertIn(b"--text number 2: byte 2 is not valid UTF-8", run.stderr)

    def test_a_text_over_the_ceiling_is_refused_with_item_and_limit(self):
        err = self.refused(REFUSED, "embed", "--model", MODEL, *self.lane, "--text", "short", "--text", "word " * 600)
        self.assertIn("SEQUENCE_TOO_LONG", err)
        self.assertRegex(err, r"\b512\b")
        self.assertIn("--text number 2:", err)
        self.assertNotIn("item=", err)
        self.assertIn("--text number 2: 602 tokens", err)

    def test_a_line_over_the_ceiling_is_named_before_anybody_waits_or_starts_a_worker(self):
        long = self.write("long.txt", b"short\n" + b"word " * 600 + b"\nshort\n")
        code, out, err = self.tool("embed", "--model", MODEL, *self.lane, "--text", "x", "--file", long,
                                   environment={"ANELANE_WORKER": "/no/such/worker"})
        self.assertEqual((code, out), (REFUSED, ""))
        self.assertIn("SEQUENCE_TOO_LONG", err)
        self.assertIn("long.txt:2: 602 tokens, the model takes at most 512", err)
        self.assertNotIn("item=", err)  # an index from 0, beside a number from 1

    def test_a_deadline_that_is_too_short_is_no_invitation_to_come_back(self):
        # The next process would begin from the start, and end at the same place: a script that obeys would never end.
        for ms in ("0", "1"):
            err = self.refused(REFUSED, "embed", "--model", MODEL, *self.lane, "--text", "x", "--stats", "--deadline-ms", ms)
            self.assertRegex(err.splitlines()[-1], r"^anelane: DEADLINE_EXCEEDED: .*give a larger --deadline-ms$")
            self.assertNotIn("retry_after_ms=", err)
            self.assertNotRegex(err, "faulted|crash")
        # Nor is a shape that cannot be ready in time: its compile stops with the process. Nobody else may compile while this has the lock.
        cache = self.make("late-cache")
        with open(os.path.join(cache, "compile.lock"), "wb") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            err = self.refused(REFUSED, "embed", "--model", MODEL, "--lock-dir", self.make("late"), "--cache-dir", cache, "--text", "x",
                               "--deadline-ms", "3000")
        self.assertRegex(err, r"\Aanelane: (SHAPE_COMPILING: shape 128 cannot be ready in time|DEADLINE_EXCEEDED).*give a larger --deadline-ms.*\n\Z")
        self.assertNotIn("retry_after_ms=", err)

    def test_programs_that_are_no_worker(self):
        loop = self.write("loop-worker", b"#!/bin/sh\nkill -9 $$\n")
        os.chmod(loop, 0o755)
        for program, expected, words in (("/bin/true", REFUSED, "ended with code 0 before its HELLO"),
                                         (loop, TRY_LATER, "was killed by signal 9 before its HELLO")):
            code, out, err = self.tool("embed", "--model", MODEL, *self.lane, "--text", "x", environment={"ANELANE_WORKER": program})
            self.assertEqual((code, out), (expected, ""), err)
            for part in (program, words, "--version"):
                self.assertIn(part, err)

    def test_a_folder_that_is_no_checkpoint(self):
        for command in (["embed", *self.lane, "--text", "x"], ["describe"]):
            err = self.refused(REFUSED, command[0], "--model", self.make("no-checkpoint"), *command[1:])
            self.assertIn("no config.json", err)
            self.assertIn("is this a Hugging Face checkpoint folder?", err)

    def test_lock_folders_that_lead_nowhere(self):
        loop = os.path.join(self.temp, "circle")
        os.symlink(loop, loop)
        for command in (["embed", "--model", MODEL, "--text", "x"], ["describe"]):
            self.assertIn("leads in a circle", self.refused(REFUSED, *command, "--lock-dir", loop))

    def test_too_few_descriptors(self):
        run = subprocess.run(["sh", "-c", 'ulimit -n 12; exec "$@"', "sh", TOOL, "embed", "--model", MODEL, *self.lane, "--text", "x"],
                             capture_output=True, timeout=BOUND_S, check=False, text=True)
        self.assertIn(run.returncode, (REFUSED, TRY_LATER))
        self.assertIn("Too many open files in this process (close some, or raise its limit: ulimit -n)", run.stderr)

    def test_model_paths_that_are_none(self):
        file = self.write("file", b"x")
        for path in (os.path.join(self.temp, "none"), file, self.make("hollow")):
            for command in (["embed", *self.lane, "--text", "x"], ["describe"]):
                with self.subTest(path=path, command=command[0]):
                    err = self.refused(REFUSED, command[0], "--model", path, *command[1:])
                    self.assertIn(path, err)

    def test_a_worker_that_is_missing(self):
        code, out, err = self.tool("embed", "--model", MODEL, *self.lane, "--text", "x",
                                   environment={"ANELANE_WORKER": "/no/such/worker"})
        self.assertIn(code, (REFUSED, TRY_LATER))
        self.assertEqual(out, "")
        self.assertIn("ENGINE_UNAVAILABLE", err)
        self.assertIn("/no/such/worker", err)


class Busy(ToolCase):
    """A lane that somebody else holds."""

    def hold(self):
        """A tool that holds the lane while it waits for nothing: stopped in the middle of a long call."""
        texts = self.write("many.txt", b"word " * 100 + b"\n" * 4000)
        process = subprocess.Popen([TOOL, "embed", "--model", MODEL, "--json", *self.lane, "--file", texts],
                                   stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            _, out, _ = self.tool("describe", "--json", "--lock-dir", self.lane[1])
            if json.loads(out)["held"]:
                return process
            time.sleep(0.02)
        process.kill()
        self.fail("the lane was never taken")

    def test_busy_is_try_later_and_names_the_holder(self):
        holder = self.hold()
        try:
            os.kill(holder.pid, signal.SIGSTOP)
            err = self.refused(TRY_LATER, "embed", "--model", MODEL, *self.lane, "--text", "x", "--deadline-ms", "300")
            self.assertIn("LANE_BUSY", err)
            self.assertRegex(err, rf"LANE_BUSY.*\b{holder.pid}\b")
            self.assertRegex(err.splitlines()[-1], r"^retry_after_ms=\d+$")
            # That it waits, a busy machine may come to say only after so short a time.
            with subprocess.Popen([TOOL, "embed", "--model", MODEL, *self.lane, "--text", "x", "--deadline-ms", "59500"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as waiting:
                line = waiting.stderr.readline()
                waiting.kill()
            self.assertRegex(line, rf"waiting up to (60|[1-5]\d) s for the lane, which process {holder.pid} .* holds\n")
            code, out, _ = self.tool("describe", "--json", "--lock-dir", self.lane[1])
            record = json.loads(out)
            self.assertEqual((code, record["held"], record["pid"]), (DONE, True, holder.pid))
            self.assertIn("anelane", record["program"])
            _, text, _ = self.tool("describe", "--lock-dir", self.lane[1])
            self.assertIn(f"process {holder.pid}", text)
        finally:
            holder.kill()
            holder.wait()
        # kill -9 of the owner frees the lane (its worker notices and goes), and the next call works.
        self.assertEqual(len(self.embed("--text", "after", "--deadline-ms", "60000")["embeddings"]), 1)
        _, text, _ = self.tool("describe", "--lock-dir", self.lane[1])
        self.assertEqual(text, "the lane is free\n")

    def test_interrupt_ends_the_tool_by_the_signal(self):
        holder = self.hold()
        holder.send_signal(signal.SIGINT)
        self.assertEqual(holder.wait(timeout=10), -signal.SIGINT)


class Describe(ToolCase):
    def test_model(self):
        code, out, err = self.tool("describe", "--json", "--model", MODEL + "/")
        self.assertEqual((code, err), (DONE, ""))
        info = json.loads(out)
        self.assertEqual({key: info[key] for key in ("model", "kind", "dim", "ceiling", "layers")},
                         {"model": "all-MiniLM-L6-v2", "kind": "embedder", "dim": 384, "ceiling": 512, "layers": 6})
        self.assertEqual(info["rungs"][0], 128)
        self.assertLessEqual(info["rungs"][-1], 512)
        self.assertNotIn("cached_rungs", info)  # of a folder alone nobody knows what is compiled
        self.assertNotIn(" ", out.strip())
        code, out, _ = self.tool("describe", "--model", MODEL)
        self.assertEqual(code, DONE)
        self.assertRegex(out, r"longest text +512 tokens")
        self.assertNotIn("compiled", out)

    def test_a_lane_that_was_never_opened(self):
        none = os.path.join(self.temp, "none")
        self.assertEqual(self.tool("describe", "--lock-dir", none, "--json"), (DONE, '{"held":false}\n', ""))
        code, out, err = self.tool("describe", "--lock-dir", none)
        self.assertEqual((code, err), (DONE, ""))
        self.assertIn(f"there is none in {none} yet", out)
        self.assertFalse(os.path.exists(none))
        self.assertEqual(self.tool("describe", "--lock-dir", self.lane[1])[1], "the lane is free\n")

    def test_version(self):
        with open(os.path.join(SOURCE, "VERSION"), encoding="utf-8") as f:
            version = f.read().strip()
        code, out, err = self.tool("version")
        self.assertEqual((code, err), (DONE, ""))
        self.assertRegex(out, rf"^anelane {version}(\+\S*)? \(interface \d+\)\n$")

    def test_help_is_no_error(self):
        for command in ([], ["embed"], ["describe"], ["selftest"], ["version"]):
            code, out, _ = self.tool(*command, "--help")
            self.assertEqual(code, DONE)
            self.assertIn("Usage", out)


class Terminal(ToolCase):
    """What stderr shows when it is a terminal, and that a pipe gets nothing."""

    def on_terminal(self, *arguments):
        master, slave = pty.openpty()
        process = subprocess.Popen([TOOL, *arguments], stdout=subprocess.DEVNULL, stderr=slave,
                                   env={**os.environ, "TERM": "xterm"})
        os.close(slave)
        seen = b""
        deadline = time.monotonic() + BOUND_S
        while time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                try:
                    block = os.read(master, 65536)
                except OSError:  # the other end is closed
                    break
                seen += block
        os.close(master)
        self.assertEqual(process.wait(timeout=BOUND_S), DONE, seen)
        return seen.decode()

    def test_progress_while_a_shape_compiles_and_none_left_behind(self):
        seen = self.on_terminal("embed", "--model", MODEL, *self.lane, "--text", "x")
        self.assertRegex(seen, r"shape 128: layer \d of 6")
        self.assertTrue(seen.endswith("\r\x1b[K"), repr(seen[-80:]))

    def test_a_pipe_gets_no_progress(self):
        shutil.rmtree(self.lane[3])
        self.make("cache")
        code, _, err = self.tool("embed", "--model", MODEL, *self.lane, "--text", "x", environment={"TERM": "xterm"})
        self.assertEqual((code, err), (DONE, ""))


class Replay(ToolCase):
    def record(self):
        """The path of a real lane's record, and its lines."""
        path = os.path.join(self.temp, "record")
        self.embed("--record", path, "--text", "short", "--text", "word " * 200)
        with open(path, encoding="utf-8") as f:
            return path, f.read().splitlines(keepends=True)

    def test_a_real_lane_decides_the_same_again(self):
        path, lines = self.record()
        code, out, err = self.tool("replay", path)
        self.assertEqual((code, err), (DONE, ""))
        steps = sum('"ev":' in line for line in lines)
        self.assertGreater(steps, 5)
        self.assertEqual(out, f"{steps} steps, the same actions\n")
        self.assertEqual(json.loads(lines[-1]), {"end": "closed"})
        grants = [action for line in lines for action in json.loads(line).get("do", []) if action.startswith("grant")]
        self.assertEqual(len(grants), 2)  # one for each rung
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_a_record_without_its_closing_line_is_said_not_to_be_whole(self):
        path, lines = self.record()
        with open(path, "wb") as f:
            f.write("".join(lines[:-1]).encode())
        code, out, err = self.tool("replay", path)
        steps = sum('"ev":' in line for line in lines)
        self.assertEqual((code, out), (DONE, f"{steps} steps, the same actions\n"))
        self.assertRegex(err, r"\Aanelane: .*record is not whole: its closing line is missing.*\n\Z")

    def test_an_edited_record_differs_at_its_line(self):
        _, lines = self.record()
        number = next(i for i, line in enumerate(lines) if '"grant ' in line)
        lines[number] = lines[number].replace('"grant ', '"offer ')
        err = self.refused(REFUSED, "replay", self.write("edited", "".join(lines).encode()))
        self.assertIn(f"edited:{number + 1}: recorded: offer", err)
        self.assertIn("decided now: grant", err)

    def test_what_is_no_whole_record_is_refused_with_its_line(self):
        _, lines = self.record()
        text = "".join(lines).encode()
        cut = self.refused(REFUSED, "replay", self.write("cut", text[:-len(lines[-1]) - 4]))
        self.assertIn(f"cut:{len(lines) - 1}: the file ends in the middle of this line", cut)
        self.assertIn("garbage:1:", self.refused(REFUSED, "replay", self.write("garbage", os.urandom(64) + b"\n")))
        self.assertIn("text:1: this is no record of a lane", self.refused(REFUSED, "replay", self.write("text", b"# Read me\n\nWords.\n")))
        self.assertIn("is empty", self.refused(REFUSED, "replay", self.write("empty", b"")))
        self.assertIn("none", self.refused(REFUSED, "replay", os.path.join(self.temp, "none")))
        self.assertEqual(self.tool("replay")[0], USAGE)

    def test_a_record_that_cannot_be_written_never_hurts(self):
        if os.path.exists("/dev/full"):
            self.embed("--record", "/dev/full", "--text", "x")
        missing = os.path.join(self.temp, "no-folder", "record")
        err = self.refused(REFUSED, "embed", "--model", MODEL, *self.lane, "--text", "x", "--record", missing)
        self.assertIn("cannot create the record " + missing, err)


class Selftest(ToolCase):
    def test_passes_with_the_tiny_model_in_both_modes(self):
        for mode in ("process", "thread"):
            code, out, err = self.tool("selftest", "--worker-mode", mode, environment={"TMPDIR": self.make("tmp")})
            self.assertEqual((code, err), (DONE, ""), out)
            self.assertRegex(out, r"vectors are right: least cosine (1\.0|0\.9999)")
            self.assertRegex(out, r"selftest passed after \d+ steps\n$")
            self.assertEqual(os.listdir(self.make("tmp")), [])

    def test_passes_with_a_real_model(self):
        code, out, err = self.tool("selftest", "--model", MODEL)
        self.assertEqual((code, err), (DONE, ""), out)

    def test_fails_without_a_worker(self):
        code, out, _ = self.tool("selftest", environment={"ANELANE_WORKER": "/no/such/worker"})
        self.assertEqual(code, REFUSED)
        self.assertRegex(out, r"FAILED  vectors from a cold lane: .*ENGINE_UNAVAILABLE")
        self.assertRegex(out, r"selftest FAILED after 3 steps\n$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
