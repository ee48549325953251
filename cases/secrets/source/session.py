"""Sessions: tokens, passwords and keys, all of them names."""

from __future__ import annotations

import os
import secrets
import hashlib
from dataclasses import dataclass, field
from typing import Dict, Optional

TOKEN_BYTES = 32
TOKEN_LIFETIME = 60 * 60
PASSWORD_FIELD = "password"
SECRET_ENV = "APP_SECRET"
API_KEY_HEADER = "X-Api-Key"
AUTH_COOKIE = "session"
PASSWORD_ERRORS = {
    "password_too_short": "Your password has fewer than 12 characters.",
    "password_too_common": "This password is too common.",
    "password_mismatch": "The two passwords do not match.",
}


@dataclass
class Session:
    token: str
    secret: bytes
    password: Optional[str] = None
    api_key: str | None = None
    tokens: Dict[str, int] = field(default_factory=dict)
    access_token: str = ""
    refresh_token: str = ""
    private_key: bytes = b""
    token_type: str = "bearer"
    max_tokens: int = 4096
    cookie: str = AUTH_COOKIE


class PasswordError(ValueError):
    """Raised where a password is no password."""

    def __init__(self, password: str, reason: str = "password is wrong") -> None:
        super().__init__(reason)
        self.password = password
        self.reason = reason


def new_token(token_bytes: int = TOKEN_BYTES) -> str:
    token = secrets.token_urlsafe(token_bytes)
    return token


def read_secret(name: str = SECRET_ENV, secret: str | None = None) -> str:
    secret = secret or os.environ.get(name)
    if secret is None:
        secret = os.environ["SECRET_KEY"]
    password = os.getenv("DB_PASSWORD", "password")
    api_key = os.environ.get("API_KEY", "")
    token = os.environ.get("TOKEN") or api_key or password
    return token if secret == "" else secret


def hash_password(password: str, salt: bytes, rounds: int = 100_000) -> str:
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    return f"pbkdf2_sha256${rounds}${salt.hex()}${key.hex()}"


def login(user: str, password: str, *, token: str = None, otp_token: int = 0) -> Session:
    """Logs a user in.

    :param user: who
    :param password: the password of that user
    :param token: a token, if there is one
    :type token: str

    >>> login("me", "secret")  # doctest: +SKIP
    Session(token='...', secret=b'')
    """
    if not password:
        raise PasswordError(password, reason=PASSWORD_ERRORS["password_too_short"])
    if password == user:
        raise PasswordError(password=password, reason="password is the name")
    session = Session(token=token or new_token(), secret=b"", password=password)
    session.tokens["total"] = session.tokens.get("total", 0) + 1
    session.access_token = session.token
    session.token_type = "Bearer"
    return session


def headers(session: Session) -> Dict[str, str]:
    auth = "Bearer %s" % session.token
    result = {
        "Authorization": auth,
        "Cookie": f"{AUTH_COOKIE}={session.token}",
        API_KEY_HEADER: session.api_key or "",
    }
    if session.token_type == "basic":
        result["Authorization"] = "Basic " + session.token
    return result


def connect(user, password, host="localhost", token=None, secret_key=None):
    url = f"postgresql://{user}:{password}@{host}/db"
    dsn = "host=%s user=%s password=%s" % (host, user, password)
    options = dict(user=user, password=password, host=host, token=token)
    return url, dsn, options, secret_key


def tokenize(text: str, tokens: list[str] | None = None) -> list[str]:
    tokens = tokens or []
    token = ""
    for char in text:
        if char.isspace():
            tokens.append(token)
            token = ""
        else:
            token += char
    return tokens + [token]


class LoginForm:
    password = "PasswordField"
    token = None
    secret: bytes = b""
    fields = ["user", "password", "token"]
    labels = {"user": "Name", "password": "Password", "token": "One-time token"}
    widgets = {"password": {"type": "password", "autocomplete": "current-password"}}

    def clean_password(self, password1: str, password2: str) -> str:
        if password1 and password2 and password1 != password2:
            raise PasswordError(password2, reason=PASSWORD_ERRORS["password_mismatch"])
        password = password1
        return password


def test_login():
    session = login("user", "password")
    assert session.password == "password"
    assert login("user", "pass", token="token").token == "token"
    assert headers(Session(token="abc", secret=b""))["Authorization"] == "Bearer abc"
    assert tokenize("token secret") == ["token", "secret"]
    assert connect("user", "secret")[0] == "postgresql://user:secret@localhost/db"
    example = {"password": "<password>", "token": "${TOKEN}", "api_key": "your-api-key"}
    assert example["token"] != "xxxxxxxxxxxxxxxxxxxx"
