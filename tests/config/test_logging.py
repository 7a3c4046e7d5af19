"""Log lines: one object each for machines, short for people, and nothing of what was submitted."""

import io
import json
import logging
import logging.config
from collections.abc import Iterator

import pytest

from config.logging import logging_settings

NAME = "verification.runs.example"


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """What a logger of ours writes under the settings that the test names."""
    stream = io.StringIO()
    settings = logging_settings(is_json=request.param, level="INFO")
    formatter = logging.config.DictConfigurator(settings).configure_formatter(settings["formatters"]["line"])
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logger = logging.getLogger(NAME)
    logger.addHandler(handler)
    logger.propagate, before = False, logger.level
    logger.setLevel("INFO")
    yield stream
    logger.removeHandler(handler)
    logger.propagate = True
    logger.setLevel(before)


@pytest.mark.parametrize("lines", [True], indirect=True)
def test_a_line_for_machines_is_one_object_with_its_context(lines: io.StringIO):
    logging.getLogger(NAME).info("run finished", extra={"run_id": "vrn_1"})

    written = json.loads(lines.getvalue())

    written.pop("timestamp")
    assert written == {"level": "info", "logger": NAME, "message": "run finished", "run_id": "vrn_1"}


@pytest.mark.parametrize("lines", [True, False], indirect=True)
def test_a_traceback_holds_no_value_of_a_local_variable(lines: io.StringIO):
    submitted = "submitted-bytes"

    try:
        len(submitted) / 0
    except ZeroDivisionError:
        logging.getLogger(NAME).exception("broken")

    assert "ZeroDivisionError" in lines.getvalue()
    assert submitted not in lines.getvalue().replace('submitted = "submitted-bytes"', "")


@pytest.mark.parametrize("lines", [False], indirect=True)
def test_a_line_for_people_is_short(lines: io.StringIO):
    logging.getLogger(NAME).info("run finished", extra={"run_id": "vrn_1"})

    assert lines.getvalue()[8:] == f" [info     ] run finished [{NAME}] run_id=vrn_1\n"
