#!/usr/bin/env python3
"""Answers OpenAI's /v1/embeddings from the Neural Engine lane of this machine. Standard library only.

    openai_server.py MODEL_DIR [--host 127.0.0.1] [--port 8080] [--name NAME] [--timeout SECONDS]

    POST /v1/embeddings   input: a string, strings, token ids, or lists of them; encoding_format float or base64; dimensions
                          only as the model has them; user is ignored
    GET  /v1/models       the one model; /v1/models/NAME too
    GET  /health          200 while it serves, 503 while it ends or the model's workers keep crashing; busy: the requests that the
                          engine works on

What the engine cannot do yet is 503 with Retry-After (in seconds; retry-after-ms is exact): while a shape compiles, say. What took
longer than --timeout is 504: the same again is likely to end the same way. A text that is too long is 400; nothing is ever truncated.
The library's warnings, a worker's death for one, go to stderr. SIGTERM and Ctrl-C let requests in flight end, then close the lane. It
speaks plain HTTP and asks nobody for a key: put it behind something that does before others can reach it.
"""
import argparse
import base64
import contextlib
import json
import math
import os
import queue
import signal
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anelane

MAX_BODY = 16 << 20
MAX_ITEMS = 2048
# Errors that no client can help; the rest of the permanent ones are the request's fault.
OURS = (anelane.InternalError, anelane.IoError, anelane.EngineUnavailableError, anelane.CompileFailedError, anelane.ProtocolError,
        anelane.ClosedError, anelane.RetiredError)


class Refused(Exception):
    """An answer that is no embedding."""

    def __init__(self, status, message, kind="invalid_request_error", param=None, code=None, headers=None):
        super().__init__(message)
        self.status, self.headers = status, headers or {}
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def refusal(error):
    """How an error of the library is told in HTTP."""
    if isinstance(error, anelane.DeadlineExceededError):  # nobody knows when it would help to ask again
        return Refused(504, str(error), "server_error", code=error.name.lower())
    if error.transient:
        seconds = error.retry_after or 1.0
        return Refused(503, str(error), "server_error", code=error.name.lower(),
                       headers={"Retry-After": str(math.ceil(seconds)), "retry-after-ms": str(math.ceil(seconds * 1000))})
    if isinstance(error, anelane.SequenceTooLongError):
        return Refused(400, str(error), param="input", code="context_length_exceeded")
    if isinstance(error, OURS):
        return Refused(500, str(error), "server_error", code=error.name.lower())
    return Refused(400, str(error), param="input", code=error.name.lower())


class Service:
    """The lane, its model and its tokenizer."""

    def __init__(self, model_dir, name, timeout, lock_dir=None, prewarm=True):
        self.tokenizer = anelane.Tokenizer(model_dir)
        self.lane = anelane.Lane(lock_dir=lock_dir, prewarm=prewarm, timeout=10)
        self.model = self.lane.load(model_dir, name=name)
        self.name = name
        self.dim = self.model.info.dim
        self.timeout = timeout
        self.created = int(time.time())
        self.busy, self.lock = 0, threading.Lock()  # requests that the engine works on

    @contextlib.contextmanager
    def counted(self):
        with self.lock:
            self.busy += 1
        try:
            yield
        finally:
            with self.lock:
                self.busy -= 1

    def close(self):
        self.model.close()
        self.lane.close()
        self.tokenizer.close()

    def status(self):
        """What /health says, and the text for people."""
        if self.lane.describe()["models"][0]["state"] == "quarantined":
            return 503, "the model's workers keep crashing: a new one is tried once a minute"
        return 200, "ok"

    def described(self):
        return {"id": self.name, "object": "model", "created": self.created, "owned_by": "local"}

    def check_name(self, name):
        if name != self.name:
            raise Refused(404, f"the model {name!r} is not here; {self.name} is", param="model", code="model_not_found")

    def embeddings(self, request):
        """The answer to a decoded body."""
        if not isinstance(request, dict):
            raise Refused(400, "the body is no JSON object")
        if not isinstance(request.get("model"), str):
            raise Refused(400, f"no model is named: give {self.name!r}", param="model")
        self.check_name(request["model"])
        form = request.get("encoding_format") or "float"
        if form not in ("float", "base64"):
            raise Refused(400, f"encoding_format is {form!r}: give float or base64", param="encoding_format")
        dimensions = request.get("dimensions")
        if dimensions is not None and dimensions != self.dim:
            raise Refused(400, f"this model has {self.dim} dimensions, and its vectors cannot be shortened", param="dimensions")
        ids = self.token_ids(request.get("input"))
        with self.counted():
            rows = self.model.embed_ids_rows(ids, timeout=self.timeout)
        tokens = sum(map(len, ids))
        return {"object": "list", "model": self.name, "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
                "data": [{"object": "embedding", "index": i, "embedding": encode(row, form)} for i, row in enumerate(rows)]}

    def token_ids(self, given):
        """A list of token id lists, from all that `input` may be."""
        if isinstance(given, str) or (isinstance(given, list) and given and all(is_id(one) for one in given)):
            given = [given]
        if not isinstance(given, list) or not given:
            raise Refused(400, "input is neither a string, nor strings, nor token ids, nor lists of them", param="input")
        if len(given) > MAX_ITEMS:
            raise Refused(400, f"input has {len(given)} items, more than {MAX_ITEMS}", param="input")
        out = []
        for item in given:
            if isinstance(item, str):
                out.append(self.tokenizer.encode(item))
            elif isinstance(item, list) and all(is_id(one) for one in item):
                out.append(item)
            else:
                raise Refused(400, f"input[{len(out)}] is neither a string nor token ids", param="input")
        return out


def is_id(value):
    return isinstance(value, int) and not isinstance(value, bool)


def encode(row, form):
    if form == "float":
        return row.tolist()
    if sys.byteorder == "big":
        row.byteswap()
    return base64.b64encode(row.tobytes()).decode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "anelane"
    timeout = 60  # for a client that stops talking

    def respond(self):
        """Every request has its answer in JSON."""
        headers = {}
        try:
            body = self.body()  # in any case: the next request of the connection comes behind it
            status, answer = self.result(urllib.parse.unquote(self.path.partition("?")[0]), body)
        except (Refused, anelane.Error) as error:
            refused = refusal(error) if isinstance(error, anelane.Error) else error
            status, answer, headers = refused.status, refused.body, refused.headers
        except OSError:  # the connection's, for which handle_error is
            raise
        except Exception as error:
            self.server.tell(error)
            status, answer = 500, Refused(500, f"the server failed: {type(error).__name__}", "server_error", code="internal").body
        self.answer(status, answer, headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = respond

    def result(self, path, body):
        """(status, what to answer)"""
        service = self.server.service
        if path == "/v1/embeddings":
            self.only("POST")
            try:
                request = json.loads(body)
            except (ValueError, RecursionError) as error:
                raise Refused(400, f"the body is no JSON: {error}") from None
            return 200, service.embeddings(request)
        if path == "/v1/models":
            self.only("GET", "HEAD")
            return 200, {"object": "list", "data": [service.described()]}
        if path.startswith("/v1/models/"):
            self.only("GET", "HEAD")
            service.check_name(path[len("/v1/models/"):])
            return 200, service.described()
        if path == "/health":
            self.only("GET", "HEAD")
            code, status = (503, "ending") if self.server.ending else service.status()
            return code, {"status": status, "model": service.name, "busy": service.busy}
        raise Refused(404, f"there is nothing at {path}")

    def only(self, *methods):
        if self.command not in methods:
            raise Refused(405, f"{self.command} does nothing here: use {methods[0]}", headers={"Allow": ", ".join(methods)})

    def body(self):
        length = self.headers.get("Content-Length", "" if self.command == "POST" or "Transfer-Encoding" in self.headers else "0")
        if not length.isascii() or not length.isdigit() or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Refused(411, "the body needs a Content-Length, and no Transfer-Encoding")
        if len(length) > 12 or int(length) > MAX_BODY:
            self.close_connection = True
            raise Refused(413, f"the body has {length[:12]} bytes, more than {MAX_BODY}")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            raise Refused(400, f"the body ended after {len(body)} of {length} bytes")
        return body

    def send_error(self, code, message=None, explain=None):
        """What the base class refuses (no HTTP, a method that nobody knows) is told like everything else."""
        self.close_connection = True
        self.answer(code, Refused(code, message or self.responses[code][0]).body)

    def answer(self, status, body, headers=None):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.close_connection or self.server.ending:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for those that answer
    block_on_close = True

    def __init__(self, address, service):
        super().__init__(address, Handler)
        self.service, self.ending = service, False
        self.connections, self.lock = set(), threading.Lock()

    def process_request(self, request, client_address):
        with self.lock:
            self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        with self.lock:
            self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):  # a client that went away is no news
            self.tell(error)

    def tell(self, error):
        print(f"openai_server: {error!r}", file=sys.stderr, flush=True)

    def end(self):
        """No new connections; those that are idle are told, those that wait for an answer get it."""
        self.ending = True
        self.shutdown()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(0)  # SHUT_RD: the thread that waits for a request wakes up
                except OSError:
                    pass


@contextlib.contextmanager
def log_to_stderr():
    """From a thread of its own: the lane waits for the function that it gives a line of log."""
    lines = queue.SimpleQueue()
    writer = threading.Thread(target=lambda: [print(line, file=sys.stderr, flush=True) for line in iter(lines.get, None)])
    writer.start()
    try:
        anelane.set_log(lambda level, line: lines.put(f"openai_server: {level}: {line}"), "warn")
        yield
    finally:
        lines.put(None)
        writer.join()


@log_to_stderr()
def serve(arguments):
    name = arguments.name or os.path.basename(os.path.abspath(arguments.model_dir))
    service = Service(arguments.model_dir, name, arguments.timeout, arguments.lock_dir, not arguments.no_prewarm)
    server = Server((arguments.host, arguments.port), service)
    for number in (signal.SIGTERM, signal.SIGINT):  # not in the handler itself: shutdown() waits for the loop that it ends
        signal.signal(number, lambda *_: threading.Thread(target=server.end).start())
    print(f"http://{arguments.host}:{server.server_address[1]} serves {name}", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    service.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_dir")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080, help="0: any that is free")
    parser.add_argument("--name", help="the model's name in requests; the folder's name")
    parser.add_argument("--timeout", type=float, default=30, help="seconds that a request may wait for the engine")
    parser.add_argument("--no-prewarm", action="store_true", help="shapes are compiled or loaded when they are first needed")
    parser.add_argument("--lock-dir", help="a lane of its own in this folder, rather than the user's")
    arguments = parser.parse_args()
    try:
        serve(arguments)
    except (anelane.Error, OSError, OverflowError) as error:  # OverflowError: of a port beyond 65535
        sys.exit(f"openai_server: {error}")


if __name__ == "__main__":
    main()
