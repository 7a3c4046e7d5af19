"""The runtime image: the same from two builds, honest in its name, and never another under a known one."""

import json
from pathlib import Path

import pytest

from tests.verification.engine.sandbox.hostile.embedded_jobs import (
    runtime,
)
from verification.engine.sandbox import images
from verification.engine.sandbox.images import Runtime, RuntimeRefused, check_name


def test_two_builds_have_one_digest_and_the_second_changes_nothing(tmp_path):
    layers = [tmp_path / name for name in ("one.tar", "two.tar")]

    pythons = [images._write_layer(layer) for layer in layers]

    assert pythons[0] == pythons[1]
    assert images._digest(layers[0]) == images._digest(layers[1])
    assert images.build_runtime(images.default_runtimes_root()).image_digest in {
        found.image_digest for found in images.runtimes_in(images.default_runtimes_root()).values()
    }


def test_a_development_runtime_says_so_in_its_name():
    found = runtime()

    assert found.is_development
    assert images.DEVELOPMENT_NAME.fullmatch(found.name)
    assert found.name.endswith(found.image_digest[7:19])


@pytest.mark.parametrize(
    ("name", "is_development"),
    [
        ("tfp-runtime/python:1", True),
        ("tfp-runtime/python:2", True),
        ("tfp-runtime/python-3.11.7-dev:000000000000", True),
        ("tfp-runtime/python-3.11.7-dev:aaaaaaaaaaaa", False),
    ],
)
def test_a_name_is_never_redefined(name, is_development):
    catalogue = {
        "runtimes": [{"name": "tfp-runtime/python:1", "image_digest": "sha256:" + "b" * 64}],
        "development": {"name": "…"},
    }

    with pytest.raises(RuntimeRefused):
        check_name(Runtime(name, "sha256:" + "a" * 64, Path(), "", is_development=is_development), catalogue)


def test_a_pinned_name_may_be_enabled():
    digest = "sha256:" + "b" * 64
    catalogue = {"runtimes": [{"name": "tfp-runtime/python:1", "image_digest": digest}], "development": {"name": "…"}}

    check_name(Runtime("tfp-runtime/python:1", digest, Path(), "", is_development=False), catalogue)

    with pytest.raises(RuntimeRefused):
        check_name(Runtime("tfp-runtime/python:1", "sha256:" + "a" * 64, Path(), "", is_development=True), catalogue)


def test_a_runtime_under_a_wrong_name_is_not_there(tmp_path, caplog):
    note = {
        "name": "tfp-runtime/python:1",
        "image_digest": "sha256:" + "a" * 64,
        "python": "/x",
        "is_development": True,
    }
    for name, text in (("one", json.dumps(note)), ("two", "{"), ("three", "{}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "runtime.json").write_text(text)

    assert images.runtimes_in(tmp_path) == {}
    assert caplog.text.count("a runtime was left out") == 3
