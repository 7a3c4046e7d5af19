"""What a walk through the whole product needs: the real web server, worker and broker of one test.

`site_url` is a real gunicorn on the test's database with real workers behind it; `new_context` and `page`
(tests/browser.py) are the browser. Such tests are transactional: `@pytest.mark.django_db(transaction=True)`.
"""

from collections.abc import Callable

import pytest

from tests.services import ChildProcess


@pytest.fixture
def site_url(gunicorn_url: str, celery_worker_process: Callable[..., ChildProcess]) -> str:
    """The address of the whole product: web, sandbox worker, and a worker for everything else with beat."""
    celery_worker_process(queues="sandbox", concurrency=2)
    celery_worker_process(queues="default", concurrency=1, beat=True)
    return gunicorn_url
