"""A blob store of its own for every test, so that altered or deleted bytes never reach another one."""

import copy
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import override_settings

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def blob_directories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this process's stores lie side by side."""
    return tmp_path_factory.mktemp("blobs")


@pytest.fixture(autouse=True)
def blob_directory(blob_directories: Path) -> Iterator[Path]:
    """The folder in which this test's bytes are stored; it comes to be with the first of them."""
    folder = blob_directories / str(next(_numbers))
    wanted = copy.deepcopy(settings.STORAGES)
    wanted["blobs"]["OPTIONS"]["location"] = str(folder)
    with override_settings(STORAGES=wanted):
        yield folder
