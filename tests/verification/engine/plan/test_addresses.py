"""Which texts are addresses that a binding or a partner's rule may name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verification.engine.plan import is_https_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example", True),
        ("https://a.example:8443/x?y=z#t", True),
        ("https://[2001:db8::1]/x", True),
        ("http://a.example", False),
        ("HTTPS://a.example", False),
        ("https://", False),
        ("https:///x", False),
        ("https://user@a.example/", False),
        ("https://user:pass@a.example/", False),
        ("https://a.example:port/", False),
        ("https://a.example:99999/", False),
        ("https://[::1/", False),
        ("https://a.example/a b", False),
        ("https://a.example/\n", False),
        ("https://a.example\\@b.example/", False),
        ("//a.example", False),
        ("javascript:alert(1)", False),
        ("https://a.example/" + "x" * 2000, False),
        (None, False),
    ],
)
def test_an_address_is_absolute_https_without_credentials(url: object, expected: bool):
    assert is_https_url(url) is expected


@settings(deadline=None)
@given(url=st.text(max_size=60) | st.text(max_size=40).map(lambda text: f"https://{text}"))
def test_any_text_is_an_address_or_not(url: str):
    assert is_https_url(url) in {True, False}
