"""Records refuse to change in code too, before the database has to."""

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser

from accounts.ids import new_id
from accounts.records import Record, RecordIsFrozen, RecordQuerySet
from accounts.roles import is_author, is_operator, is_participant
from config.grants import FREE, MOVABLE, RECORD_APPS
from tests.factories.people import make_author, make_operator, make_user
from tests.factories.work import recorded_run

RECORDS = [model for model in apps.get_models() if issubclass(model, Record)]


@pytest.mark.parametrize("model", RECORDS, ids=lambda model: model.__name__)
def test_a_stored_record_is_neither_saved_nor_deleted_nor_updated(model):
    row = model()
    row._state.adding = False

    for change in (row.save, row.delete, model.objects.all().delete, lambda: model.objects.all().update(pk="x")):
        with pytest.raises(RecordIsFrozen):
            change()


def test_every_record_is_read_through_the_queryset_that_refuses():
    assert {model for model in RECORDS if not isinstance(model.objects.all(), RecordQuerySet)} == set()


@pytest.mark.django_db
def test_a_record_read_back_is_not_saved_again():
    run = recorded_run("verified")
    run.evidence_md = "rewritten"

    with pytest.raises(RecordIsFrozen):
        run.save()


def test_every_table_of_the_record_apps_is_a_record_or_is_named_as_free_or_movable():
    others = {
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label in RECORD_APPS and not issubclass(model, Record)
    }

    assert others - FREE - set(MOVABLE) == {"contracts_fixtureset_fixtures"}


def test_ids_made_later_sort_later_and_name_their_kind():
    made = [new_id("vrn") for _ in range(3)]

    assert {len(text) for text in made} == {30}
    assert {text[:4] for text in made} == {"vrn_"}
    assert made[0][:12] <= made[-1][:12]


@pytest.mark.django_db
def test_roles_are_what_was_granted():
    people = {
        "visitor": AnonymousUser(),
        "participant": make_user(),
        "author": make_author(),
        "operator": make_operator(),
        "staff": make_user(is_staff=True),
        "gone": make_author(is_active=False),
    }

    assert {name for name, one in people.items() if is_participant(one)} == {
        "participant", "author", "operator", "staff",
    }  # fmt: skip
    assert {name for name, one in people.items() if is_author(one)} == {"author"}
    assert {name for name, one in people.items() if is_operator(one)} == {"operator"}
