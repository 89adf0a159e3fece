"""Verifies proofs of receipts of AsyncGate. It needs nothing but Python.

    python3 verify.py log-key.txt receipt.json ...

The first file has the public keys of the log, as /.well-known/asyncgate-log-key returns them. The others were made with
"asyncgate receipts proof RECEIPT_ID". It prints one line per file, and ends with status 1 if one is not valid.
"""

import base64
import hashlib
import json
import sys
from urllib.parse import quote


class Invalid(Exception):
    """A proof is malformed, or does not prove what it claims."""


def check(condition, message):
    if not condition:
        raise Invalid(message)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def decode(text):
    """Accepts only the one encoding of the bytes."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Invalid("base64 is malformed") from None
    check(base64.b64encode(data).decode() == text, "base64 is malformed")
    return data


def number(text):
    check(text.isascii() and text.isdigit() and str(int(text)) == text, "a number is malformed")
    return int(text)


# Ed25519 (RFC 8032). Points are in extended coordinates (X, Y, Z, T).

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


def point(data):
    """Decompresses a point."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    check(y < P, "a point is malformed")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    check((x * x - square) % P == 0 and not (x == 0 and sign), "a point is malformed")
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def is_signed(public_key, message, signature):
    if len(public_key) != 32 or len(signature) != 64:
        return False
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if s >= ORDER:
        return False
    h = hashlib.sha512(r + public_key + message).digest()
    k = int.from_bytes(h, "little") % ORDER
    left, right = multiply(s, BASE), add(point(r), multiply(k, point(public_key)))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 == (left[1] * right[2] - right[1] * left[2]) % P


# Checkpoints, which are signed notes, and proofs of inclusion (RFC 9162, section 2.1.3.2).


def read_keys(text):
    """The public keys by their name and id."""
    keys = {}
    for line in text.split():
        parts = line.split("+", 2)
        check(len(parts) == 3, "a key is malformed")
        typed = decode(parts[2])
        check(typed[0] == 1 and sha256(parts[0].encode(), b"\n", typed)[:4].hex() == parts[1], "a key is malformed")
        keys[parts[0], parts[1]] = typed[1:]
    return keys


def open_checkpoint(note, keys):
    """The origin, size and root of a checkpoint that one of the keys has signed."""
    text, separator, lines = note.rpartition("\n\n")
    check(separator and lines.endswith("\n"), "the checkpoint is malformed")
    text += "\n"
    fields = text.split("\n")
    check(len(fields) == 4, "the checkpoint is malformed")
    origin, size, root = fields[0], number(fields[1]), decode(fields[2])
    for line in lines[:-1].split("\n"):
        words = line.split(" ")
        check(len(words) == 3 and words[0] == "—", "a signature is malformed")
        signature = decode(words[2])
        key = keys.get((words[1], signature[:4].hex()))
        if key is not None and words[1] == origin:
            check(is_signed(key, text.encode(), signature[4:]), "the signature is not valid")
            return origin, size, root
    raise Invalid("no known key has signed the checkpoint")


def root_above(leaf, index, size, path):
    check(index < size, "the index is outside of the log")
    node, last = index, size - 1
    for sibling in path:
        check(last > 0, "the proof is too long")
        if node & 1 or node == last:
            leaf = sha256(b"\x01", sibling, leaf)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            leaf = sha256(b"\x01", leaf, sibling)
        node, last = node >> 1, last >> 1
    check(last == 0, "the proof is too short")
    return leaf


def verify(document, keys):
    head, separator, note = document["proof"].partition("\n\n")
    lines = head.split("\n")
    check(separator and lines[0] == "c2sp.org/tlog-proof@v1" and lines[1].startswith("index "), "the proof is malformed")
    index, path = number(lines[1][6:]), [decode(line) for line in lines[2:]]
    origin, size, root = open_checkpoint(note, keys)
    leaf = document["leaf"]
    check(root_above(sha256(b"\x00", leaf.encode()), index, size, path) == root, "the receipt is not in the log")
    receipt = json.loads(leaf)
    check(receipt["receipt_id"] == document["receipt_id"], "the receipt has another id")
    check(receipt["seq"] == index + 1, "the receipt is not in the place of its seq")
    check(origin.endswith("/" + quote(receipt["tenant_id"], safe="!'()*~-_.")), "the log belongs to another tenant")
    body, salt = document["body"], document["salt"]
    if body is not None or salt is not None:
        check(body is not None and salt is not None, "the body or its salt is missing")
        check(sha256(salt.encode(), body.encode()).hex() == receipt["body_commitment"], "the body is another one")
    return f"receipt {receipt['seq']} of {size} in {origin}" + (", body erased" if body is None else "")


def main(key_file, *files):
    with open(key_file, encoding="utf-8") as file:
        keys = read_keys(file.read())
    failed = False
    for name in files:
        try:
            with open(name, encoding="utf-8") as file:
                print(f"{name}: valid: {verify(json.load(file), keys)}")
        except (Invalid, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            print(f"{name}: INVALID: {error}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
