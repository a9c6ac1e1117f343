#!/usr/bin/env python3
"""A scripted, deterministic OpenAI-compatible server for tests: chat, embeddings and rerank, and
every way in which such servers misbehave. Loopback only, standard library only, Python 3.9.

    with ModelServer(dimension=32) as server:         # in a thread of this process
        server.url                                    # http://127.0.0.1:PORT/v1
        server.script({"do": "status", "status": 429, "retry_after": 1},      # the first request
                      {"purpose": "facts", "do": "fences", "times": 3})       # the first 3 of facts
        server.set(refuse=["temperature"], formats=["object", "plain"])   # how it is, from now on
        server.requests[0].purpose, .headers["authorization"], .body["model"], .texts
        server.stats()["max_in_flight"]

    with ModelProcess("--set", "dimension=32") as server:       # the same in a process of its own
        server.script(...), server.set(...), server.stats(), server.requests()

    model_server.py [--port 0] [--demo] [--delay S] [--set NAME=JSON]... [--script FILE]
    POST /_script  {"rules": [...], "set": {...}, "reset": true}
    GET /_stats, /_requests, /_faults

A rule is an object:
  which request   purpose (boundary describe topic facts answer embed rerank unknown), kind (chat
                  embed rerank), path, text (a part of the body), has (a member of the body), rung
                  (strict schema object plain), stream; when(request), in Python only
  which of those  nth (1-based, a number or a list), after (more than so many), times (how often it
                  is used: 1; null: always). The first rule that fits and is not used up is taken;
                  later ones do not see, and do not count, that request
  what happens    do: names of faults (model_faults.py) with their options beside them; content (the
                  text of a chat reply, or an object as JSON), patch (members put into the JSON
                  object of the reply), answer(request) -> content, in Python only
A name that is not known is an error: a rule with a typing mistake would test nothing.

What answers mean is in model_answers.py. The same requests get the same replies; only the numbers
in ids count on. Limits of a real server (a key, models, context, batch, rungs) are the SETTINGS of
model_brain.py.
"""
import argparse
import asyncio
import json
import os
import resource
import socket
import ssl
import struct
import subprocess
import sys
import threading
import traceback
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import model_faults as faults  # noqa: E402
import model_wire as wire  # noqa: E402
from model_brain import Brain, Request, Rule  # noqa: E402

# ---- The server ----------------------------------------------------------------------------------

class Control:
    """The paths that drive the fake from outside."""

    def __init__(self, brain):
        self.brain = brain

    def reply(self, request):
        """(status, object), or None when the path is not one of these."""
        routes = {("GET", "/_stats"): self.brain.stats,
                  ("GET", "/health"): lambda: {"status": "ok"},
                  ("GET", "/_requests"): self.requests, ("GET", "/_faults"): self.faults,
                  ("POST", "/_script"): lambda: self.script(request.body)}
        route = routes.get((request.method, request.path))
        if route is None:
            return None
        try:
            return 200, route()
        except (ValueError, TypeError) as error:
            return 400, {"error": str(error)}

    def requests(self):
        return [one.shown() for one in self.brain.requests]

    @staticmethod
    def faults():
        return {name: {"stage": stage, "what": (function.__doc__ or "").strip()}
                for name, (stage, function) in faults.FAULTS.items()}

    def script(self, body):
        unknown = set(body) - {"rules", "set", "reset"}
        if unknown:
            raise ValueError("unknown: %s" % ", ".join(sorted(unknown)))
        rules = [Rule(rule) for rule in body.get("rules") or []]
        if body.get("reset"):
            self.brain.reset()
        self.brain.set(body.get("set") or {})
        self.brain.rules += rules
        return {"rules": len(self.brain.rules)}


class Connection(asyncio.Protocol):
    """One client: reads requests one after the other and answers each."""

    def __init__(self, server):
        self.server, self.brain = server, server.brain
        self.parser = wire.Parser()
        self.arrived, self.lost = asyncio.Event(), asyncio.Event()
        self.transport = self.task = None
        self.number = 0

    def connection_made(self, transport):
        self.transport = transport
        with self.brain.lock:
            count = self.brain.count
            count["connections"] += 1
            count["open"] += 1
            count["max_open"] = max(count["max_open"], count["open"])
            self.number = count["connections"]
        self.server.connections.add(self)
        self.task = asyncio.ensure_future(self.run())

    def data_received(self, data):
        self.parser.feed(data)
        if self.parser.wants_continue():
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.arrived.set()

    def connection_lost(self, _):
        with self.brain.lock:
            self.brain.count["open"] -= 1
        self.server.connections.discard(self)
        self.lost.set()
        self.arrived.set()

    async def run(self):
        try:
            while not self.lost.is_set():
                found = self.parser.next_request()
                if found is None:
                    await self.arrived.wait()
                    self.arrived.clear()
                    continue
                if not await self.serve(*found):
                    break
        except wire.BadRequest as error:
            self.transport.write(wire.head(400, [("Connection", "close")]))
            self.brain.errors.append("bad request: %s" % error)
        except ConnectionError:
            pass
        except Exception:  # a bug of the fake or of a test's own rule: close() raises it
            self.brain.errors.append(traceback.format_exc())
        finally:
            self.transport.close()

    async def pause(self, seconds):
        """Waits, unless the client goes; then ConnectionError."""
        if seconds is None or seconds > 0:
            try:
                await asyncio.wait_for(self.lost.wait(), seconds)
            except asyncio.TimeoutError:
                return
        if self.lost.is_set():
            raise ConnectionError("the client is gone")

    async def serve(self, method, target, headers, raw):
        """Answers one request; False: the connection ends."""
        with self.brain.lock:
            number = self.brain.count["requests"] + 1
            request = Request(number, self.number, method, target, headers, raw)
            own = self.server.control.reply(request)
            rule = self.brain.take(request) if own is None else None
        if own is not None:
            body = json.dumps(own[1]).encode("utf-8")
            self.transport.write(wire.head(own[0], [("Content-Type", "application/json"), (
                "Content-Length", str(len(body)))]) + body)
            return True
        sent_all = False
        try:
            with self.brain.lock:
                work = self.brain.made(request, rule)
            await self.pause(self.brain.delay_of(work))
            stays = await self.send(work)
            sent_all = True
            return stays and request.headers.get("connection", "").lower() != "close"
        finally:
            with self.brain.lock:
                self.brain.done(request, sent_all)

    async def send(self, work):
        how = work.wire
        if how["hang"]:
            await self.pause(None)
        if how["close"]:
            return self.cut(how)
        head, pieces = wire.rendered(work)
        if how["cut_head"]:
            self.transport.write(head[:len(head) // 2])
            return self.cut(how)
        self.transport.write(head)
        pause = how["pause_s"] or (self.brain.settings["event_s"] if work.events else 0)
        for i, piece in enumerate(pieces):
            if piece is wire.STALL:
                await self.pause(None)
            elif piece is wire.CUT:
                return self.cut(how)
            else:
                self.transport.write(piece)
                if i + 1 < len(pieces):
                    await self.pause(pause)
        return not (how["until_close"] or how["last"])

    def cut(self, how):
        if how["reset"]:
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
        return False


class Server:
    """The listening socket and its loop; run() blocks until stop()."""

    def __init__(self, settings=None, port=0, tls=None):
        self.brain = Brain(settings or {})
        self.control = Control(self.brain)
        self.connections = set()
        self.port, self.tls = port, tls
        self.ready, self.loop, self.failed = threading.Event(), None, None
        self.stopping = None

    def run(self):
        raise_descriptors()
        try:
            asyncio.run(self.main())
        except OSError as error:
            self.failed = error
        finally:
            self.ready.set()

    async def main(self):
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        context = None
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.tls)
        server = await self.loop.create_server(
            lambda: Connection(self), "127.0.0.1", self.port, backlog=4096, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await self.stopping.wait()
        server.close()
        for connection in list(self.connections):
            connection.transport.abort()
        tasks = [c.task for c in self.connections if c.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=5)

    def stop(self):
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.stopping.set)


def raise_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = hard if hard != resource.RLIM_INFINITY else 65536
    if soft != resource.RLIM_INFINITY and soft < want:
        resource.setrlimit(resource.RLIMIT_NOFILE, (want, hard))


class ModelServer:
    """The server in a thread of this process, for a test."""

    def __init__(self, *rules, tls=None, **settings):
        self.server = Server(settings, tls=tls)
        self.brain = self.server.brain
        self.script(*rules)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        self.server.ready.wait(20)
        if self.server.failed or not self.server.port:
            raise self.server.failed or OSError("the model server does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends all connections. What went wrong inside the fake fails the test."""
        self.server.stop()
        self.thread.join(20)
        if self.brain.errors:
            raise AssertionError("the model server: " + "; ".join(self.brain.errors))

    @property
    def port(self):
        return self.server.port

    @property
    def root(self):
        return "%s://127.0.0.1:%d" % ("https" if self.server.tls else "http", self.port)

    @property
    def url(self):
        return self.root + self.brain.settings["base"]

    @property
    def requests(self):
        """Those so far, oldest first."""
        with self.brain.lock:
            return list(self.brain.requests)

    def of(self, purpose):
        return [one for one in self.requests if one.purpose == purpose]

    def script(self, *rules):
        """Adds rules behind those that are there."""
        made = [Rule(rule) for rule in rules]
        with self.brain.lock:
            self.brain.rules += made

    def set(self, **values):
        with self.brain.lock:
            self.brain.set(values)

    def clear(self):
        """Drops the rules and what was recorded; settings stay."""
        with self.brain.lock:
            kept = dict(self.brain.settings)
            self.brain.reset()
            self.brain.settings.update(kept)

    def unused(self):
        """Rules that never took effect; a test that scripted them has not tested them."""
        with self.brain.lock:
            return [rule.options for rule in self.brain.rules if rule.used == 0]

    def stats(self):
        with self.brain.lock:
            return self.brain.stats()


class ModelProcess:
    """The server in a process of its own: for benchmarks, which it must not disturb."""

    def __init__(self, *args):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__)] + list(args),
                                        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        line = self.process.stdout.readline().decode("utf-8")
        if not line.startswith("listening "):
            self.close()
            raise OSError("the model server did not start: %r" % line)
        self.port = int(line.split()[1])
        self.root = "http://127.0.0.1:%d" % self.port
        self.url = self.root + "/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode("utf-8")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(self.root + path, data,
                                         {"Content-Type": "application/json"})
        with opener.open(request, timeout=60) as reply:
            return json.load(reply)

    def script(self, *rules):
        self.call("/_script", {"rules": list(rules)})

    def set(self, **values):
        self.call("/_script", {"set": values})

    def stats(self):
        return self.call("/_stats")

    def requests(self):
        return self.call("/_requests")


DEMO = {"delay_s": 0.15, "delays_s": {"embed": 0.02, "rerank": 0.05}, "token_s": 0.002,
        "event_s": 0.03, "answer": "best", "cut_every": 10, "join_overlap": 0.25, "log": True}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--demo", action="store_true",
                        help="the latency of a quick model, and a line for each request")
    parser.add_argument("--delay", type=float, default=None, help="seconds before each reply")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON")
    parser.add_argument("--script", default="", help="a file with what POST /_script takes")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    return parser.parse_args()


def announce(server, demo):
    server.ready.wait()
    if server.failed:
        return
    print("listening %d" % server.port, flush=True)
    if demo:
        url = "http://127.0.0.1:%d/v1" % server.port
        print("Start the daemon with any of these; Ctrl-C stops this server:\n"
              "  --llm-base-url %s --embed-base-url %s --rerank-base-url %s" % (url, url, url),
              file=sys.stderr, flush=True)


def main():
    args = parse()
    settings = dict(DEMO) if args.demo else {}
    if args.delay is not None:
        settings["delay_s"] = args.delay
    for pair in args.set:
        name, _, value = pair.partition("=")
        settings[name] = json.loads(value)
    server = Server(settings, args.port, args.tls)
    if args.script:
        with open(args.script, encoding="utf-8") as file:
            server.control.script(json.load(file))
    threading.Thread(target=announce, args=(server, args.demo)).start()
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    if server.failed:
        print("model_server: %s" % server.failed, file=sys.stderr)
    return 1 if server.failed else 0


if __name__ == "__main__":
    sys.exit(main())
