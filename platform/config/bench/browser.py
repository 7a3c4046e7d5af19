"""A browser without a screen: cookies, hidden form fields, redirects as answers, a connection for each request."""

import http.client
import re
import time
from contextlib import closing
from dataclasses import dataclass
from http.cookies import SimpleCookie
from secrets import token_hex
from urllib.parse import urlencode, urlsplit

HIDDEN = re.compile(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"')


class UnexpectedAnswer(Exception):
    """A page answered otherwise than the measured path needs."""


@dataclass(frozen=True)
class Answer:
    """One answer, and how long it took from the first byte sent to the last one read."""

    status: int
    location: str
    body: bytes
    took_s: float

    @property
    def hidden(self) -> dict[str, str]:
        """The hidden fields of the page's last form, by name."""
        return dict(HIDDEN.findall(self.body.decode()))


class Browser:
    """One person's browser."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc
        self._cookies: dict[str, str] = {}

    def get(self, path: str) -> Answer:
        """The page at that path."""
        return self._ask("GET", path, None, {}, expected=200)

    def post(self, path: str, fields: dict[str, str]) -> Answer:
        """What the form there answers; a redirect."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._ask("POST", path, urlencode(fields).encode(), headers, expected=302)

    def upload(self, path: str, fields: dict[str, str], *, name: str, filename: str, content: bytes) -> Answer:
        """What the form there answers to one file; a redirect."""
        boundary = token_hex(16)
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
            for key, value in fields.items()
        ]
        head = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"\r\nContent-Type: text/plain'
        parts += [f"--{boundary}\r\n{head}\r\n\r\n".encode(), content, f"\r\n--{boundary}--\r\n".encode()]
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self._ask("POST", path, b"".join(parts), headers, expected=302)

    def sign_in(self, username: str, password: str) -> None:
        """Sign in through the form."""
        fields = self.get("/account/login/").hidden
        self.post("/account/login/", fields | {"login": username, "password": password})

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str], *, expected: int) -> Answer:
        cookie = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        with closing(http.client.HTTPConnection(self._host, timeout=60)) as connection:
            started = time.perf_counter()
            connection.request(method, path, body, headers | {"Cookie": cookie, "Accept": "text/html"})
            response = connection.getresponse()
            content = response.read()
            took_s = time.perf_counter() - started
        for line in response.headers.get_all("Set-Cookie", []):
            self._cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        if response.status != expected:
            raise UnexpectedAnswer(f"{method} {path}: expected {expected}, found {response.status}")
        return Answer(response.status, response.headers.get("Location", ""), content, took_s)
