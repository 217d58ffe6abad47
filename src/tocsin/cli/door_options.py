"""What `tocsin send` and `tocsin read` have in common: which doors, and with which token."""

import argparse
import os
from pathlib import Path

from tocsin.core.errors import InputError
from tocsin.door.client import TIMEOUT_SECONDS, Client

TOKEN_VARIABLE = "TOCSIN_TOKEN"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="grpc://HOST:PORT or grpc+tls://…; several with commas between")
    parser.add_argument("--token", metavar="TOKEN", help=f"better in the variable {TOKEN_VARIABLE}, or in a file")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="the token is its first word")
    parser.add_argument("--fingerprint", metavar="HEX", help="of the door's self-signed certificate")
    parser.add_argument("--group", metavar="GROUP", help="of the doors' groups (default: the first)")
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT_SECONDS, metavar="S", help="how long to look for a door (default: 30)"
    )


def client_of(arguments: argparse.Namespace) -> Client:
    token = arguments.token or os.environ.get(TOKEN_VARIABLE)
    if arguments.token_file is not None:
        try:
            words = arguments.token_file.read_text(encoding="utf-8").split()
        except (OSError, UnicodeError) as error:
            raise InputError(f"{arguments.token_file}: cannot be read: {error}") from None
        if not words:
            raise InputError(f"{arguments.token_file}: expected a token, found nothing")
        token = words[0]
    return Client(arguments.url, token, arguments.fingerprint, arguments.timeout)
