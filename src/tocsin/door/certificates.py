"""Certificates of doors: a self-signed pair (`tocsin keygen --door`), and fingerprints by which clients know one."""

import datetime
import hashlib
import ipaddress
import logging
import ssl
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tocsin.core.errors import InputError

_log = logging.getLogger("tocsin.door")

DAYS: Final = 3650  # that a pair is good for; it is replaced by hand, and clients by a new fingerprint
NAME: Final = "tocsin-door"  # every self-signed certificate is of this name, whatever the machine is called


def new_pair(names: list[str]) -> tuple[bytes, bytes]:
    """Certificate and key, PEM, for these host names and addresses."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))  # clocks differ
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in [NAME, *names]]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def fingerprint(pem: bytes) -> str:
    """SHA-256 of a certificate, as 64 hexadecimal digits in pairs."""
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))).hexdigest().upper()
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))


def check_pair(cert: bytes, key: bytes, source: str) -> None:
    """Whether certificate and key belong together; one that has expired is warned of, and clients will refuse it."""
    try:
        certificate = x509.load_pem_x509_certificate(cert)
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError) as error:
        raise InputError(f"{source}: expected a certificate and a key in PEM: {error}") from None
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    if certificate.public_key().public_bytes(*form) != private.public_key().public_bytes(*form):
        raise InputError(f"{source}: expected the certificate of the key beside it, found another's")
    reason = expired(cert)
    if reason:
        _log.warning("%s: %s; clients refuse it; tocsin keygen --door makes another", source, reason)


def expired(cert: bytes) -> str:
    """Why a certificate is not good now; "": it is."""
    certificate = x509.load_pem_x509_certificate(cert)
    now = datetime.datetime.now(datetime.UTC)
    if now > certificate.not_valid_after_utc:
        return f"the certificate expired on {certificate.not_valid_after_utc:%Y-%m-%d}"
    if now < certificate.not_valid_before_utc:
        return f"the certificate is good from {certificate.not_valid_before_utc:%Y-%m-%d} on; is the clock right?"
    return ""


def name_in(cert: bytes) -> str:
    """A host name for which a certificate is good."""
    certificate = x509.load_pem_x509_certificate(cert)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return NAME
    hosts = names.get_values_for_type(x509.DNSName)
    return hosts[0] if hosts else NAME
