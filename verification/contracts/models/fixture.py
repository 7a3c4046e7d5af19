"""ConformanceFixtures: known inputs with their known outcome, appended at any time and at most once retired."""

import pgtrigger
from django.conf import settings
from django.db import models

from accounts.fields import HashField, hash_check, key_check
from accounts.records import Record, kept, only_moves, refuse, settled_with, trigger, write_once
from verification.contracts.models.contract import ArtifactRole, ContractStage, ReferenceSlot, VerifierContract


class ConformanceFixture(Record):
    """One known input of one sandbox stage and what a conforming Implementation makes of it."""

    contract = models.ForeignKey(VerifierContract, on_delete=models.PROTECT, related_name="fixtures")
    stage = models.ForeignKey(ContractStage, on_delete=models.PROTECT, related_name="fixtures")
    key = models.CharField(max_length=63)
    position = models.PositiveIntegerField()
    title = models.CharField(max_length=200, blank=True)
    summary_md = models.TextField(blank=True)
    expected_result = models.CharField(max_length=16, choices=[(r, r) for r in ("verified", "refuted", "inconclusive")])
    expected_score = models.FloatField(null=True, blank=True)
    inputs_hash = HashField()
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    retire_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["contract", "key"], name="fixture_key"),
            # The same inputs with another expectation are refused; retiring the old one makes room.
            models.UniqueConstraint(
                fields=["stage", "inputs_hash"], condition=models.Q(retired_at=None), name="fixture_inputs"
            ),
            key_check("key", name="fixture_key_form"),
            hash_check("inputs_hash", name="fixture_hash"),
            models.CheckConstraint(
                name="fixture_expectation",
                condition=models.Q(expected_result__in=["verified", "refuted", "inconclusive"])
                & (models.Q(expected_score=None) | models.Q(expected_result="verified")),
            ),
            models.CheckConstraint(
                name="fixture_retirement",
                condition=models.Q(retired_at=None, retired_by=None, retire_reason="")
                | models.Q(retired_at__isnull=False, retired_by__isnull=False) & ~models.Q(retire_reason=""),
            ),
        ]
        triggers = [
            kept(),
            only_moves("retired_at", "retired_by_id", "retire_reason"),
            settled_with("retired_at", "retired_by_id", "retire_reason"),
            trigger(
                "of_a_sandbox_stage",
                pgtrigger.Insert,
                "IF NOT EXISTS (SELECT 1 FROM contracts_contractstage s WHERE s.id = NEW.stage_id "
                "AND s.contract_id = NEW.contract_id AND s.kind = 'sandbox') THEN "
                + refuse("a fixture names a sandbox stage of its contract")
                + " END IF; RETURN NEW;",
            ),
            trigger(
                "binds_what_is_required",
                pgtrigger.Insert,
                "IF EXISTS (SELECT 1 FROM contracts_stageslot ss JOIN contracts_referenceslot r ON r.id = ss.slot_id "
                "WHERE ss.stage_id = NEW.stage_id AND r.required AND ss.optional_position IS NULL AND NOT EXISTS "
                "(SELECT 1 FROM contracts_fixturefile f WHERE f.fixture_id = NEW.id AND f.slot_id = r.id)) THEN "
                + refuse("a fixture binds every required slot its stage selects")
                + " END IF; RETURN NULL;",
                deferred=True,
            ),
        ]

    def __str__(self) -> str:
        return self.key


class FixtureFile(Record):
    """The bytes a fixture gives for one slot or one role."""

    fixture = models.ForeignKey(ConformanceFixture, on_delete=models.PROTECT, related_name="files")
    slot = models.ForeignKey(ReferenceSlot, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    role = models.ForeignKey(ArtifactRole, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    blob = models.ForeignKey("blobs.Blob", on_delete=models.PROTECT, related_name="+")
    filename = models.CharField(max_length=255)
    media_type = models.CharField(max_length=127)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["fixture", "slot"], name="fixturefile_slot"),
            models.UniqueConstraint(fields=["fixture", "role"], name="fixturefile_role"),
            models.CheckConstraint(
                name="fixturefile_one_place",
                condition=models.Q(slot=None, role__isnull=False) | models.Q(slot__isnull=False, role=None),
            ),
        ]
        triggers = [
            write_once(),
            trigger(
                "of_its_stage",
                pgtrigger.Insert,
                "IF NOT EXISTS (SELECT 1 FROM contracts_conformancefixture f WHERE f.id = NEW.fixture_id AND ("
                "(NEW.slot_id IS NOT NULL AND EXISTS (SELECT 1 FROM contracts_stageslot ss "
                "WHERE ss.stage_id = f.stage_id AND ss.slot_id = NEW.slot_id)) OR "
                "(NEW.role_id IS NOT NULL AND EXISTS (SELECT 1 FROM contracts_artifactrole r "
                "WHERE r.id = NEW.role_id AND r.contract_id = f.contract_id)))) THEN "
                + refuse("a fixture binds slots its stage selects and roles of its contract")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.filename
