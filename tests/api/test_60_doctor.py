"""`hypermemd doctor` against a small server in this process: what it prints and advises."""
import base64
import http.server
import json
import os
import socket
import struct
import threading
import unittest

import harness

CLEAN = {"OPENAI_BASE_URL": "", "OPENAI_API_BASE": "", "OPENAI_API_KEY": ""}
IN_CONTAINER = os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")


def refusal(status, message):
    return status, {"error": {"message": message}}


def chat_reply(body, prompt_tokens=None):
    """42 for the question with a schema, OK for the long prompt."""
    system_and_user = body["messages"][0]["content"] + body["messages"][1]["content"]
    words = len(system_and_user.split())
    text = '{"sum": 42}' if "19 + 23" in system_and_user else "OK"
    return 200, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                 "usage": {"prompt_tokens": prompt_tokens or words, "completion_tokens": 5}}


def embed_reply(body, dimension=4):
    data = [{"index": i, "embedding": [float(i == k) + 0.1 for k in range(dimension)]}
            for i in range(len(body["input"]))]
    return 200, {"data": data, "usage": {"prompt_tokens": 9}}


def rerank_reply(body):
    scores = [0.9 if "Rex" in text else 0.1 for text in body["documents"]]
    return 200, {"results": [{"index": i, "relevance_score": s} for i, s in enumerate(scores)]}


class Provider:
    """paths: path -> function(body) -> (status, JSON or text). `asked` holds what came."""

    def __init__(self, paths):
        provider = self
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = json.loads(raw)
                provider.asked.append((self.path, dict(self.headers), body))
                answer = paths.get(self.path.split("?")[0])
                status, reply = answer(body) if answer else (404, "404 page not found")
                text = reply if isinstance(reply, str) else json.dumps(reply)
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(
            target=lambda: self.server.serve_forever(poll_interval=0.02), daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


ALL = {"/v1/chat/completions": chat_reply, "/v1/embeddings": embed_reply,
       "/v1/rerank": rerank_reply}


class Doctor(unittest.TestCase):
    def doctor(self, *args, env=None, status=0):
        done = harness.run("doctor", *args, env=dict(CLEAN, **(env or {})), seconds=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def has(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)

    def test_nothing_is_configured(self):
        self.has(self.doctor(), "No model is configured")
        # A key or a base URL alone turns nothing on.
        with Provider(ALL) as provider:
            env = {"OPENAI_BASE_URL": provider.url + "/v1", "OPENAI_API_KEY": "sk-lies-around"}
            self.has(self.doctor("--llm-api-key=x", env=env), "No model is configured")
            self.assertEqual(provider.asked, [])

    def test_all_work(self):
        with Provider(ALL) as provider:
            base = provider.url + "/v1"
            text = self.doctor("--llm-base-url=" + base, "--llm-model=small", "--llm-api-key=sk-1",
                               "--embed-base-url=" + base, "--embed-model=tiny",
                               "--rerank-base-url=" + base, "--context=200")
            self.has(text, "boundary, describe, topic, facts, answer\n",
                     "url        %s/chat/completions\n" % base, "model      small\n",
                     "status     200 in ", "output     json_schema strict\n",
                     "tokens were read", "\nembed\n", "dimension  4\n",
                     'identity   at="127.0.0.1/v1" model="tiny" dimension=4', "\nrerank\n",
                     "form       cohere\n", "scores     0.900 for what answers",
                     "3 of 3 models work")
            self.assertNotIn("advice", text)
            self.assertNotIn("sk-1", text)
            chats = [head for path, head, _ in provider.asked if path.endswith("completions")]
            self.assertEqual(len(chats), 2)
            self.assertEqual(chats[0]["Authorization"], "Bearer sk-1")
            embeds = [head for path, head, _ in provider.asked if path.endswith("embeddings")]
            self.assertNotIn("Authorization", embeds[0])

    def test_what_had_to_be_mended(self):
        def chat(body):
            if "temperature" in body:
                return refusal(400, "Unsupported parameter: temperature")
            if body.get("response_format", {}).get("type") == "json_schema":
                return refusal(400, "response_format json_schema is not supported")
            return chat_reply(body)

        def rerank(body):
            if "texts" not in body:
                return 422, {"error": "missing field `texts`", "error_type": "Validation"}
            return 200, [{"index": i, "score": 7.5 if "Rex" in text else -3.5}
                         for i, text in enumerate(body["texts"])]

        def embed(body):
            status, reply = embed_reply(body)
            for item in reply["data"]:
                packed = struct.pack("<4f", *item["embedding"])
                item["embedding"] = base64.b64encode(packed).decode()
            return status, reply

        with Provider({"/v1/chat/completions": chat, "/rerank": rerank,
                       "/v1/embeddings": embed}) as provider:
            text = self.doctor("--llm-base-url=" + provider.url, "--context=0",
                               "--embed-base-url=" + provider.url,
                               "--rerank-base-url=" + provider.url)
            self.has(text, "output     json_object\n", "refused    temperature\n",
                     "url        %s/v1/chat/completions\n" % provider.url,
                     "the base URL lacks /v1", "model      (none named",
                     "form       tei\n", "scores     0.999 for what answers", "dimension  4\n",
                     "3 of 3 models work")

    def test_a_purpose_of_its_own(self):
        with Provider(ALL) as one, Provider(ALL) as other:
            text = self.doctor("--llm-base-url=%s/v1" % one.url, "--llm-api-key=sk-one",
                               "--llm-extra-headers=X-Team: one|X-Way: two", "--context=0",
                               "--llm-facts-base-url=%s/v1" % other.url,
                               "--llm-facts-model=large", "--llm-answer-model=larger")
            self.has(text, "boundary, describe, topic\n", "\nfacts\n", "\nanswer\n",
                     "model      larger\n", "3 of 3 models work")
            self.assertEqual(len(one.asked), 2)
            self.assertEqual(len(other.asked), 1)
            # Neither the key nor the headers of one host go to another.
            self.assertEqual(one.asked[0][1]["X-Team"], "one")
            self.assertEqual(one.asked[0][1]["X-Way"], "two")
            self.assertNotIn("Authorization", other.asked[0][1])
            self.assertNotIn("X-Team", other.asked[0][1])
            self.assertEqual(other.asked[0][2]["model"], "large")

    def test_openai_variables(self):
        with Provider(ALL) as named, Provider(ALL) as own:
            env = {"OPENAI_BASE_URL": named.url + "/v1", "OPENAI_API_KEY": "sk-env"}
            text = self.doctor("--llm-model=small", "--embed-base-url=%s/v1" % own.url,
                               "--context=0", env=env)
            self.has(text, "2 of 2 models work", named.url)
            self.assertNotIn("sk-env", text)
            self.assertEqual(named.asked[0][1]["Authorization"], "Bearer sk-env")
            self.assertNotIn("Authorization", own.asked[0][1])
            config = harness.run("config", env=dict(CLEAN, **env)).stdout
            self.has(config, "; OPENAI_BASE_URL = " + named.url, "; OPENAI_API_KEY = ********")
            self.assertNotIn("sk-env", config)

    def test_wrong_key(self):
        with Provider({"/v1/chat/completions":
                       lambda body: refusal(401, "Incorrect API key: sk-secret-key")}) as provider:
            base = "--llm-base-url=%s/v1" % provider.url
            text = self.doctor(base, "--llm-api-key=sk-secret-key", status=1)
            self.has(text, "status     401 in ", "FAILED     auth", "the key is refused",
                     "0 of 1 models work")
            self.assertNotIn("sk-secret-key", text)
            self.has(self.doctor(base, status=1), "no key is configured")
            self.assertEqual(len(provider.asked), 2)

    def test_one_of_two_fails(self):
        with Provider({"/v1/chat/completions": chat_reply}) as provider:
            base = provider.url + "/v1"
            text = self.doctor("--llm-base-url=" + base, "--embed-base-url=" + base,
                               "--context=0", status=1)
            self.has(text, "FAILED     request", "check the path", "1 of 2 models work")

    def test_nobody_listens(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and does not listen
            url = "http://localhost:%d/v1" % taken.getsockname()[1]
            text = self.doctor("--embed-base-url=" + url, status=1)
        self.has(text, "status     no reply", "FAILED     connect",
                 "in a container" if IN_CONTAINER else "nothing answers there")

    def test_too_slow(self):
        gate = threading.Event()

        def hangs(_):
            gate.wait(30 * harness.SLOW)
            return 200, {}

        with Provider({"/v1/embeddings": hangs}) as provider:
            text = self.doctor("--embed-base-url=%s/v1" % provider.url, "--embed-timeout-ms=200",
                               status=1)
            gate.set()
        self.has(text, "too slow")

    def test_context_that_is_cut(self):
        with Provider({"/v1/chat/completions": lambda body: chat_reply(body, 512)}) as provider:
            base = "--llm-base-url=%s/v1" % provider.url
            self.has(self.doctor(base, "--context=1000"), "context    CUT: of 1000 words",
                     "num_ctx")
            self.assertNotIn("CUT", self.doctor(base, "--context=500"))

    def test_context_that_is_short(self):
        def chat(body):
            if len(body["messages"][1]["content"]) > 1000:
                return refusal(400, "the request exceeds the available context size")
            return chat_reply(body)

        with Provider({"/v1/chat/completions": chat}) as provider:
            text = self.doctor("--llm-base-url=%s/v1" % provider.url)
            self.has(text, "context    less than 6000 tokens", "read in halves")

    def test_wrong_dimension(self):
        with Provider(ALL) as provider:
            text = self.doctor("--embed-base-url=%s/v1" % provider.url,
                               "--embed-dimensions=1024", status=1)
            self.has(text, "shorter than the configured dimensions", "check that the model makes")

    def test_same_vector_for_all(self):
        same = {"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}
        with Provider({"/v1/embeddings": lambda body: (200, same)}) as provider:
            self.has(self.doctor("--embed-base-url=%s/v1" % provider.url), "does not embed")

    def test_redirects_are_not_followed(self):
        with Provider({"/v1/embeddings": lambda body: (307, ""), "/elsewhere": embed_reply}) as p:
            text = self.doctor("--embed-base-url=%s/v1" % p.url, "--embed-api-key=sk-1", status=1)
            self.has(text, "status     307", "redirects are not followed")
            self.assertEqual([path for path, _, _ in p.asked], ["/v1/embeddings"])

    def test_loopback_is_never_proxied(self):
        with socket.socket() as taken, Provider(ALL) as provider:
            taken.bind(("127.0.0.1", 0))
            proxy = "http://127.0.0.1:%d" % taken.getsockname()[1]
            env = {"http_proxy": proxy, "HTTP_PROXY": proxy, "all_proxy": proxy, "no_proxy": ""}
            self.doctor("--embed-base-url=%s/v1" % provider.url, env=env)
            self.assertEqual(len(provider.asked), 1)

    def test_what_is_wrong_in_the_configuration(self):
        self.has(self.doctor("--llm-base-url=http://me:secret@host/v1", status=1), "api_key")
        self.has(self.doctor("--llm-base-url=http://host/v1", "--llm-extra-body=[1]", status=1),
                 "extra_body: want a JSON object")
        self.has(self.doctor("--llm-base-url=http://host/v1", "--llm-extra-headers=oops",
                             status=1), "extra_headers")
        self.has(self.doctor("--llm-base-url=host:80/v1", status=2), "http://")
        self.has(self.doctor("--rerank-format=best", status=2), "deepinfra")
        self.has(self.doctor("--llm-temperature=3", status=2), "decimal")
        self.has(self.doctor("--context=many", status=1), "--context")

    def test_secrets_are_masked(self):
        done = harness.run("config", "--llm-api-key=sk-1234", "--embed-extra-headers=X: sk-5678",
                           "--llm-facts-api-key=sk-9999", env=CLEAN)
        for secret in ("sk-1234", "sk-5678", "sk-9999"):
            self.assertNotIn(secret, done.stdout + done.stderr)
        self.has(done.stdout, "llm_api_key = ********", "embed_extra_headers = ********")


if __name__ == "__main__":
    unittest.main()
