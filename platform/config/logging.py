"""Log lines: JSON for machines in production, short for people in development. Never submitted content."""

import sys
from typing import Any

import structlog

# Members of a log record that say where a line comes from, in both renderings.
_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_settings(*, is_json: bool, level: str) -> dict[str, Any]:
    """Django's LOGGING: every logger of the process through one renderer to standard error.

    Args:
        is_json: one JSON object a line, tracebacks included; else short lines.
        level: the least level of our own loggers; libraries speak from WARNING on.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *(_json_end() if is_json else _short_end()),
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            name: {"level": level}
            for name in (
                "accounts", "blobs", "config", "notices", "packages", "problems", "reviews", "submissions",
                "verification", "web", "api", "mcp_server", "measurement", "requirements",
            )
        }
        | {
            # Django would log each 4xx with its path; a path may be what somebody typed.
            "django.request": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            "celery.apps.worker": {"level": "INFO"},
        },
    }  # fmt: skip


def _json_end() -> list[Any]:
    return [
        # Without the values of local variables, which may be what somebody submitted.
        structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(sort_keys=True),
    ]


def _short_end() -> list[Any]:
    return [
        _without_date,
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
        ),
    ]


def _without_date(_logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    event["timestamp"] = event["timestamp"][11:19]
    return event
