"""The examples as their readers run them: notes found by meaning, and an OpenAI client's requests over HTTP."""
import base64
import contextlib
import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from array import array
from collections.abc import Iterator

from support import BOUND_S, BUILD, MINILM, SOURCE, TempCase
from tiny import write_tiny

EXAMPLES = os.path.join(SOURCE, "examples/python")
NOTES = {"garden.md": "# Garden\n\nThe tomatoes need water twice a day in July.\n\nPrune the roses in March.",
         "money/rates.txt": "The central bank raised interest rates; loans have become dearer.",
         "bike.txt": "He repaired his bicycle with a borrowed wrench.", "empty.txt": "", "picture.png": "not a note"}


class SearchNotes(TempCase):
    def setUp(self):
        self.notes = os.path.join(self.temp, self.id())
        for name, text in NOTES.items():
            self.write(name, text)

    def write(self, name, text):
        path = os.path.join(self.notes, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def run_example(self, *words, model=MINILM):
        run = subprocess.run([sys.executable, os.path.join(EXAMPLES, "search_notes.py"), model, self.notes, *words, "--lock-dir",
                              self.folder("lane")], capture_output=True, text=True, timeout=BOUND_S, check=False)
        return run.returncode, run.stdout, run.stderr

    def test_finds_by_meaning_and_embeds_only_what_changed(self):
        code, out, err = self.run_example("Who fixed the bike?", "Borrowing is expensive")
        self.assertEqual((code, err), (0, "4 notes embedded, 0 unchanged, 0 removed\n"))
        lines = out.splitlines()
        self.assertIn("bike.txt", lines[lines.index("Who fixed the bike?") + 1])
        self.assertIn("money/rates.txt", lines[lines.index("Borrowing is expensive") + 1])
        self.write("bike.txt", "The quarterly report is due on Friday. " * 300)  # longer than the model takes: cut in pieces
        os.remove(os.path.join(self.notes, "garden.md"))
        code, out, err = self.run_example("When is the report due?")
        self.assertEqual((code, err), (0, "1 notes embedded, 2 unchanged, 1 removed\n"))
        self.assertIn("bike.txt: The quarterly report", out.splitlines()[1])

    def test_vector_spaces_are_never_mixed(self):
        other = write_tiny(os.path.join(self.temp, "tiny"))
        self.assertEqual(self.run_example()[0], 0)
        code, out, err = self.run_example("anything", model=other)
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, "holds vectors of the space .*--rebuild")
        code, out, err = self.run_example("--rebuild", model=other)
        self.assertEqual((code, out, err), (0, "", "4 notes embedded, 0 unchanged, 0 removed\n"))


class Documentation(TempCase):
    def test_the_blocks_of_the_page_run_as_they_stand(self):
        with open(os.path.join(SOURCE, "docs/python.md"), encoding="utf-8") as f:
            blocks = re.findall(r"```python\n(.*?)```", f.read(), re.S)
        self.assertEqual(len(blocks), 4)
        os.makedirs(os.path.join(self.temp, "models"))
        os.symlink(MINILM, os.path.join(self.temp, "models/all-MiniLM-L6-v2"))
        code = "\n".join((
            "import asyncio, os, numpy as np", blocks[0], "lane = anelane.Lane()", "model = lane.load('models/all-MiniLM-L6-v2')",
            "activations = np.ones(model.ports(128)[0].shape, np.float16)", blocks[1], "texts = ['one', 'two']", blocks[2],
            "asyncio.run(main())", "texts = ['x', 'word ' * 600]", blocks[3]))
        run = subprocess.run([sys.executable, "-c", code], cwd=self.temp, capture_output=True, text=True, timeout=BOUND_S, check=False,
                             env={**os.environ, "HOME": self.temp, "XDG_CACHE_HOME": self.folder("cache"), "XDG_RUNTIME_DIR": self.temp})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"(?s)0\.567.*text 1 is longer than 512 tokens")


class Server:
    """The example server on a port of its own."""

    def __init__(self, model, lane, *flags, environment=None):
        self.process = subprocess.Popen([sys.executable, os.path.join(EXAMPLES, "openai_server.py"), model, "--port", "0", "--lock-dir",
                                         lane, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        self.line = self.process.stdout.readline()
        if not self.line:
            raise AssertionError(self.process.communicate(timeout=BOUND_S)[1])
        self.port = int(self.line.split()[0].rsplit(":", 1)[1])

    def request(self, method, path, body=None, headers=None):
        """(status, decoded body, headers)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=BOUND_S)
        try:
            data = body if body is None or isinstance(body, (bytes, str, Iterator)) else json.dumps(body)
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None, answer.headers
        finally:
            connection.close()

    def embed(self, given, **more):
        return self.request("POST", "/v1/embeddings", {"model": "tiny", "input": given, **more})

    def served(self, given):
        """Whether it is within the bound: a busy machine may take longer than the server's timeout, some times."""
        end = time.monotonic() + BOUND_S
        while time.monotonic() < end:
            if self.embed(given)[0] == 200:
                return True
            time.sleep(0.1)
        return False

    def workers(self):
        found = []
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                with open(f"/proc/{self.process.pid}/task/{task}/children", encoding="ascii") as f:
                    found += map(int, f.read().split())
            except FileNotFoundError:  # a thread that has ended
                pass
        return found

    def end(self, number=signal.SIGTERM):
        """(exit code, what is left of stdout, stderr)."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=BOUND_S)
        return self.process.returncode, out, err

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class OpenAi(TempCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tiny = write_tiny(os.path.join(cls.temp, "tiny"))
        cls.server = Server(cls.tiny, cls.folder("lane"))

    @classmethod
    def tearDownClass(cls):
        ended = cls.server.end()
        super().tearDownClass()
        assert ended == (0, "", ""), ended

    def refused(self, status, answer, **fields):
        self.assertEqual(answer[0], status, answer[1])
        self.assertEqual(sorted(answer[1]), ["error"])
        self.assertEqual(sorted(answer[1]["error"]), ["code", "message", "param", "type"])
        for key, value in fields.items():
            self.assertEqual(answer[1]["error"][key], value)

    def test_it_says_where_and_what(self):
        self.assertEqual(self.server.line, f"http://127.0.0.1:{self.server.port} serves tiny\n")
        self.assertEqual(self.server.request("GET", "/health")[:2], (200, {"status": "ok", "model": "tiny", "busy": 0}))
        _, models, headers = self.server.request("GET", "/v1/models?limit=1")
        (one,) = models["data"]
        self.assertEqual((one["id"], one["object"], type(one["created"])), ("tiny", "model", int))
        self.assertEqual(self.server.request("GET", "/v1/models/tiny")[1], one)
        self.refused(404, self.server.request("GET", "/v1/models/other"), code="model_not_found")
        status, body, of_head = self.server.request("HEAD", "/v1/models")
        self.assertEqual((status, body, of_head["Content-Length"]), (200, None, headers["Content-Length"]))

    def test_every_form_of_input(self):
        status, one, _ = self.server.embed("hello world")
        self.assertEqual(status, 200)
        self.assertEqual((one["object"], one["model"], list(one["usage"])), ("list", "tiny", ["prompt_tokens", "total_tokens"]))
        self.assertEqual([(d["object"], d["index"], len(d["embedding"])) for d in one["data"]], [("embedding", 0, 64)])
        many = self.server.embed(["a", "hello world", "", "null \0 byte"])[1]["data"]
        self.assertEqual([d["index"] for d in many], [0, 1, 2, 3])
        self.assertEqual(many[1]["embedding"], one["data"][0]["embedding"])
        ids = self.server.embed([2, 40, 41, 3])[1]
        self.assertEqual((len(ids["data"]), ids["usage"]["prompt_tokens"]), (1, 4))
        batch = self.server.embed([[2, 40, 41, 3], [2, 3]])[1]
        self.assertEqual((batch["data"][0]["embedding"], batch["usage"]["total_tokens"]), (ids["data"][0]["embedding"], 6))

    def test_base64_is_the_same_floats(self):
        floats = self.server.embed("hello", encoding_format="float")[1]["data"][0]["embedding"]
        coded = self.server.embed("hello", encoding_format="base64", dimensions=64, user="me")[1]["data"][0]["embedding"]
        self.assertEqual(array("f", base64.b64decode(coded)), array("f", floats))
        self.assertEqual(self.server.embed("hello", encoding_format=None, dimensions=None)[1]["data"][0]["embedding"], floats)

    def test_refusals_in_the_shape_of_openai(self):
        too_long = self.server.embed(["ok", "a " * 300])
        self.refused(400, too_long, code="context_length_exceeded", param="input", type="invalid_request_error")
        self.assertIn("item 1", too_long[1]["error"]["message"])
        for given in (None, [], [[]], 5, {}, [1.5], ["a", 5], [True], [[1], "x", None]):
            self.refused(400, self.server.embed(given), param="input")
        self.refused(400, self.server.embed([999999]), code="invalid_sequence")
        self.refused(400, self.server.embed([2**40]), code="invalid_sequence")
        self.refused(400, self.server.embed(["x"] * 2049), param="input")
        self.refused(400, self.server.embed("x", dimensions=32), param="dimensions")
        self.refused(400, self.server.embed("x", encoding_format="hex"), param="encoding_format")
        self.refused(404, self.server.request("POST", "/v1/embeddings", {"model": "other", "input": "x"}), code="model_not_found")
        self.refused(400, self.server.request("POST", "/v1/embeddings", {"input": "x"}), param="model")
        self.refused(400, self.server.embed("\ud800"), code="invalid_argument")
        for broken in ("{", "", b"\xff", "[" * 200000):
            self.refused(400, self.server.request("POST", "/v1/embeddings", broken))
        self.refused(400, self.server.request("POST", "/v1/embeddings", "[]"))
        self.refused(404, self.server.request("POST", "/v1/nothing", "{}"))
        self.refused(404, self.server.request("GET", "/nothing"))
        self.refused(413, self.server.request("POST", "/v1/embeddings", "", {"Content-Length": str(1 << 30)}))
        self.refused(413, self.server.request("POST", "/v1/embeddings", "", {"Content-Length": "9" * 5000}))
        self.refused(411, self.server.request("POST", "/v1/embeddings", "", {"Content-Length": "x"}))
        self.refused(411, self.server.request("POST", "/v1/embeddings", iter([b"{}"]), {"Transfer-Encoding": "chunked"}))
        for method, path, allowed in (("GET", "/v1/embeddings", "POST"), ("PUT", "/v1/embeddings", "POST"),
                                      ("POST", "/health", "GET, HEAD"), ("DELETE", "/v1/models/tiny", "GET, HEAD"),
                                      ("OPTIONS", "/v1/models", "GET, HEAD")):
            answer = self.server.request(method, path, "{}" if method in ("POST", "PUT") else None)
            self.refused(405, answer)
            self.assertEqual(answer[2]["Allow"], allowed)
        self.refused(501, self.server.request("BREW", "/coffee"))

    def test_requests_on_one_connection_and_at_once(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=BOUND_S)
        held = None
        good = {"model": "tiny", "input": "a"}
        for method, body, status in (("POST", good, 200), ("POST", {"model": "no"}, 404), ("PUT", good, 405), ("HEAD", None, 405),
                                     ("POST", good, 200)):
            connection.request(method, "/v1/embeddings", body and json.dumps(body))
            answer = connection.getresponse()
            answer.read()
            self.assertEqual((method, answer.status), (method, status))
            held = held or connection.sock
            self.assertIs(connection.sock, held)  # None: the server closed it
        connection.close()
        got = []
        threads = [threading.Thread(target=lambda i=i: got.append(self.server.embed(f"text {i}")[0])) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND_S)
        self.assertEqual(got, [200] * 16)

    def test_a_body_that_ends_early_or_has_two_lengths_is_refused(self):
        body = json.dumps({"model": "tiny", "input": "a"}).encode()
        for head, status in ((f"Content-Length: {len(body) + 1}", b"400"),
                             (f"Content-Length: {len(body)}\r\nTransfer-Encoding: chunked", b"411")):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=BOUND_S) as connection:
                connection.sendall(b"POST /v1/embeddings HTTP/1.1\r\n" + head.encode() + b"\r\n\r\n" + body)
                connection.shutdown(socket.SHUT_WR)
                with connection.makefile("rb") as answer:
                    self.assertEqual(answer.readline().split()[1], status)

    def test_a_client_that_goes_away_is_no_news(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            connection.sendall(b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        self.assertEqual(self.server.embed("still there")[0], 200)


class Waiting(TempCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tiny = write_tiny(os.path.join(cls.temp, "tiny"))

    def test_a_shape_that_is_not_ready_in_time_is_503_with_retry_after(self):
        server = Server(self.tiny, self.folder("cold"), "--timeout", "1", "--no-prewarm")
        self.addCleanup(server.kill)
        (worker,) = server.workers()
        os.kill(worker, signal.SIGSTOP)
        status, body, headers = server.embed("a")
        self.assertEqual(status, 503)
        self.assertEqual(body["error"]["type"], "server_error")
        self.assertEqual(body["error"]["code"], "shape_compiling")
        self.assertGreaterEqual(int(headers["Retry-After"]), 1)
        self.assertGreaterEqual(int(headers["Retry-After"]) * 1000, int(headers["retry-after-ms"]))
        os.kill(worker, signal.SIGCONT)
        self.assertTrue(server.served("a"))
        self.assertEqual(server.end(), (0, "", ""))

    def test_what_takes_too_long_is_504_and_names_no_time_to_ask_again(self):
        server = Server(self.tiny, self.folder("slow"), "--timeout", "1", "--no-prewarm")
        self.addCleanup(server.kill)
        self.assertTrue(server.served("a"))  # so the shape is resident
        (worker,) = server.workers()
        os.kill(worker, signal.SIGSTOP)
        status, body, headers = server.embed("a")
        os.kill(worker, signal.SIGCONT)
        self.assertEqual((status, body["error"]["type"], body["error"]["code"]), (504, "server_error", "deadline_exceeded"))
        self.assertNotIn("Retry-After", headers)
        self.assertNotIn("retry-after-ms", headers)
        self.assertEqual(server.end(), (0, "", ""))

    def test_a_compile_under_way_is_503_and_waiting_as_told_ends_it(self):
        server = Server(MINILM, self.folder("compile"), "--timeout", "0.25", "--no-prewarm")
        self.addCleanup(server.kill)
        (worker,) = server.workers()
        os.kill(worker, signal.SIGSTOP)  # until the first answer: the compile may take less than 0.25 s
        codes, end = [], time.monotonic() + BOUND_S
        while time.monotonic() < end:
            status, body, headers = server.request("POST", "/v1/embeddings", {"model": "all-MiniLM-L6-v2", "input": "a"})
            os.kill(worker, signal.SIGCONT)
            if status == 200:
                break
            if status == 504:  # on a busy machine, the embedding itself
                continue
            self.assertEqual(status, 503)
            self.assertRegex(headers["Retry-After"], "^[1-9][0-9]*$")
            codes.append(body["error"]["code"])
            time.sleep(int(headers["retry-after-ms"]) / 1000)
        self.assertEqual((status, codes[:1]), (200, ["shape_compiling"]))
        self.assertEqual(server.end(), (0, "", ""))

    def test_a_worker_that_dies_is_503_too(self):
        trigger = os.path.join(self.temp, "once")
        with open(trigger, "wb"):
            pass
        server = Server(self.tiny, self.folder("dying"), environment={"ANELANE_WORKER": os.path.join(BUILD, "tests/faulty-worker"),
                                                                     "ANELANE_WORKER_FAULT": f"embed:die:{trigger}"})
        self.addCleanup(server.kill)
        status, body, headers = server.embed("a")
        self.assertEqual((status, body["error"]["type"], body["error"]["code"]), (503, "server_error", "engine_crashed"))
        self.assertGreaterEqual(int(headers["Retry-After"]), 1)
        self.assertEqual(server.embed("a")[0], 200)
        code, out, err = server.end()
        self.assertEqual((code, out), (0, ""))
        # How the process ended is known at once, or a moment later.
        self.assertRegex(err, "^openai_server: warn: worker of tiny faulted: .*\n(openai_server: warn: worker of tiny: its process "
                              "was killed by signal 9\n)?$")

    def test_health_says_that_workers_keep_crashing(self):
        server = Server(self.tiny, self.folder("crashing"), environment={"ANELANE_WORKER": os.path.join(BUILD, "tests/faulty-worker"),
                                                                        "ANELANE_WORKER_FAULT": "embed:die"})
        self.addCleanup(server.kill)
        status, end = 200, time.monotonic() + BOUND_S
        self.assertEqual(server.request("GET", "/health")[0], status)
        while status == 200 and time.monotonic() < end:
            server.embed("a")
            status, body, _ = server.request("GET", "/health")
        self.assertEqual((status, body["model"]), (503, "tiny"))
        self.assertRegex(body["status"], "workers keep crashing")
        self.assertEqual(server.end()[:2], (0, ""))

    def test_whatever_fails_is_answered_and_told(self):
        sys.path.insert(0, EXAMPLES)
        self.addCleanup(sys.path.remove, EXAMPLES)
        import openai_server

        class Failing:
            def embeddings(self, request):
                raise ZeroDivisionError(f"of {request}")

        server = openai_server.Server(("127.0.0.1", 0), Failing())
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            with contextlib.redirect_stderr(io.StringIO()) as told:
                connection = http.client.HTTPConnection(*server.server_address, timeout=BOUND_S)
                connection.request("POST", "/v1/embeddings", b"1")
                answer = connection.getresponse()
                self.assertEqual((answer.status, json.loads(answer.read())["error"]["code"]), (500, "internal"))
                connection.close()
        finally:
            server.end()
            serving.join(BOUND_S)
            server.server_close()
        self.assertEqual(told.getvalue(), "openai_server: ZeroDivisionError('of 1')\n")

    def test_a_port_that_is_none_ends_it_with_a_line(self):
        run = subprocess.run([sys.executable, os.path.join(EXAMPLES, "openai_server.py"), self.tiny, "--port", "70000", "--lock-dir",
                              self.folder("port")], capture_output=True, text=True, timeout=BOUND_S, check=False)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertRegex(run.stderr, "^openai_server: .*port.*\n$")

    def test_shape_compiling_is_told_by_its_name(self):
        sys.path.insert(0, EXAMPLES)
        self.addCleanup(sys.path.remove, EXAMPLES)
        import anelane
        import openai_server
        error = anelane.ShapeCompilingError("SHAPE_COMPILING: …", transient=True, safe_to_retry=True, retry_after_ms=1300)
        refused = openai_server.refusal(error)
        self.assertEqual((refused.status, refused.headers), (503, {"Retry-After": "2", "retry-after-ms": "1300"}))
        self.assertEqual(refused.body["error"]["code"], "shape_compiling")
        self.assertEqual(openai_server.refusal(anelane.InternalError("x")).status, 500)

    def test_sigterm_lets_requests_in_flight_end(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = Server(self.tiny, self.folder(f"end{number}"))
            self.addCleanup(server.kill)
            self.assertEqual(server.embed("a")[0], 200)
            (worker,) = server.workers()
            os.kill(worker, signal.SIGSTOP)
            got = []
            idle = socket.create_connection(("127.0.0.1", server.port))
            self.addCleanup(idle.close)
            asking = threading.Thread(target=lambda: got.append(server.embed("in flight")[0]))
            asking.start()
            for _ in range(BOUND_S * 20):
                if server.request("GET", "/health")[1]["busy"] == 1:
                    break
                time.sleep(0.05)
            server.process.send_signal(number)
            time.sleep(0.3)
            os.kill(worker, signal.SIGCONT)
            asking.join(BOUND_S)
            out, err = server.process.communicate(timeout=BOUND_S)
            self.assertEqual((got, server.process.returncode, out, err), ([200], 0, "", ""))

    def test_a_model_that_is_none_ends_it_with_a_line(self):
        run = subprocess.run([sys.executable, os.path.join(EXAMPLES, "openai_server.py"), self.folder("none")], capture_output=True,
                             text=True, timeout=BOUND_S, check=False)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertRegex(run.stderr, "^openai_server: [A-Z_]+: ")


if __name__ == "__main__":
    unittest.main()
