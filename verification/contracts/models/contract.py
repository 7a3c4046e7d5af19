"""Verifier and VerifierContract as rows: the normative part is written while a draft and never again."""

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.fields import HashField, IdField, hash_check, key_check
from accounts.records import Record, kept, only_moves, refuse, set_once, settled_with, trigger, write_once

INSERT_OR_UPDATE = pgtrigger.Insert | pgtrigger.Update


def while_draft(contract_sql: str) -> pgtrigger.Trigger:
    """Refuses a new row under a Contract that is already published (invariant 14).

    The row lock makes a publication that is under way wait, or this insert.
    """
    return trigger(
        "while_draft",
        pgtrigger.Insert,
        "IF (SELECT published_at FROM contracts_verifiercontract "
        f"WHERE id = {contract_sql} FOR SHARE) IS NOT NULL THEN "
        f"{refuse('the normative part of a published contract never changes')} END IF; RETURN NEW;",
    )


class Verifier(models.Model):
    """A family of methods, `@owner/name`, under which Contracts are numbered."""

    id = IdField("vfr")
    owner = models.SlugField(max_length=63)
    name = models.SlugField(max_length=63)
    description_md = models.TextField(blank=True)
    created_at = models.DateTimeField()
    authors = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="verifiers", blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="verifier_name")]
        triggers = [kept(), only_moves("description_md")]

    def __str__(self) -> str:
        return f"@{self.owner}/{self.name}"


class VerifierContract(Record):
    """The acceptance statement and the plan that decides it."""

    id = IdField("vct")
    verifier = models.ForeignKey(Verifier, on_delete=models.PROTECT, related_name="contracts")
    number = models.PositiveIntegerField()
    statement_md = models.TextField()
    result_kind = models.CharField(max_length=16, choices=[("pass_fail", "pass or fail"), ("score", "score")])
    score_name = models.CharField(max_length=120, blank=True)
    score_unit = models.CharField(max_length=40, blank=True)
    score_direction = models.CharField(max_length=16, blank=True)
    score_minimum = models.FloatField(null=True, blank=True)
    score_maximum = models.FloatField(null=True, blank=True)
    score_decimals = models.PositiveSmallIntegerField(null=True, blank=True)
    score_release_step = models.FloatField(null=True, blank=True)
    summary = models.CharField(
        max_length=16, choices=[("required", "required"), ("optional", "optional"), ("refused", "refused")]
    )
    verdict_release = models.CharField(max_length=16, default="immediate")
    score_release = models.CharField(max_length=16, default="immediate")
    normative_hash = HashField()
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    published_at = models.DateTimeField(null=True, blank=True)
    yanked_at = models.DateTimeField(null=True, blank=True)
    yanked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    yank_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["verifier", "number"], name="contract_number"),
            models.UniqueConstraint(fields=["verifier", "normative_hash"], name="contract_normative_hash"),
            hash_check("normative_hash", name="contract_hash"),
            models.CheckConstraint(
                name="contract_score_block",
                condition=models.Q(
                    models.Q(result_kind="score") & ~models.Q(score_name="") & ~models.Q(score_direction="")
                    | models.Q(
                        result_kind="pass_fail",
                        score_name="",
                        score_unit="",
                        score_direction="",
                        score_minimum=None,
                        score_maximum=None,
                        score_decimals=None,
                        score_release_step=None,
                    )
                ),
            ),
            models.CheckConstraint(
                name="contract_releases",
                condition=models.Q(
                    verdict_release__in=["immediate", "with_labels"], score_release__in=["immediate", "with_labels"]
                ),
            ),
            models.CheckConstraint(
                name="contract_yank_reason",
                condition=models.Q(yanked_at=None, yanked_by=None, yank_reason="")
                | models.Q(yanked_at__isnull=False, yanked_by__isnull=False) & ~models.Q(yank_reason=""),
            ),
        ]
        triggers = [
            kept(),
            only_moves("published_at", "yanked_at", "yanked_by_id", "yank_reason"),
            set_once("published_at"),
            settled_with("yanked_at", "yanked_by_id", "yank_reason"),
            trigger(
                "publishable",
                pgtrigger.Update,
                """
                IF OLD.published_at IS NOT NULL OR NEW.published_at IS NULL THEN RETURN NEW; END IF;
                IF NOT EXISTS (SELECT 1 FROM contracts_contractstage WHERE contract_id = NEW.id) THEN
                """
                + refuse("a contract has at least one stage")
                + """
                END IF;
                IF EXISTS (
                    SELECT 1 FROM contracts_contractstage s WHERE s.contract_id = NEW.id AND s.kind = 'sandbox'
                    AND NOT EXISTS (SELECT 1 FROM contracts_conformancefixture f WHERE f.stage_id = s.id)
                ) THEN
                """
                + refuse("every sandbox stage has a fixture")
                + " END IF; RETURN NEW;",
            ),
            trigger(
                "born_a_draft",
                pgtrigger.Insert,
                f"IF NEW.published_at IS NOT NULL THEN {refuse('a contract is published after it is written')} "
                "END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verifier} contract {self.number}"


class ReferenceSlot(Record):
    """A named input that every revision under the Contract binds."""

    contract = models.ForeignKey(VerifierContract, on_delete=models.PROTECT, related_name="slots")
    position = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=63)
    required = models.BooleanField()
    media_types = ArrayField(models.CharField(max_length=127))
    max_bytes = models.BigIntegerField()
    description = models.TextField(blank=True)
    sealed = models.BooleanField(default=False)
    validator_builtin = models.CharField(max_length=63, blank=True)
    validator_runtime = models.CharField(max_length=120, blank=True)
    validator_filename = models.CharField(max_length=255, blank=True)
    validator_program = models.ForeignKey(
        "blobs.Blob", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["contract", "key"], name="slot_key"),
            models.UniqueConstraint(fields=["contract", "position"], name="slot_position"),
            key_check("key", name="slot_key_form"),
            models.CheckConstraint(
                name="slot_validator",
                condition=models.Q(validator_runtime="", validator_filename="", validator_program=None)
                | (models.Q(validator_builtin="", validator_program__isnull=False) & ~models.Q(validator_runtime="")),
            ),
        ]
        triggers = [write_once(), while_draft("NEW.contract_id")]

    def __str__(self) -> str:
        return self.key


class ArtifactRole(Record):
    """What a checkable Submission brings, in order."""

    contract = models.ForeignKey(VerifierContract, on_delete=models.PROTECT, related_name="roles")
    position = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=63)
    media_types = ArrayField(models.CharField(max_length=127))
    max_bytes = models.BigIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["contract", "key"], name="role_key"),
            models.UniqueConstraint(fields=["contract", "position"], name="role_position"),
            key_check("key", name="role_key_form"),
        ]
        triggers = [write_once(), while_draft("NEW.contract_id")]

    def __str__(self) -> str:
        return self.key


class ContractStage(Record):
    """One stage of the plan; its kind says who ran the check."""

    contract = models.ForeignKey(VerifierContract, on_delete=models.PROTECT, related_name="stages")
    position = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=63)
    kind = models.CharField(max_length=16, choices=[(k, k) for k in ("sandbox", "review", "external")])
    title = models.CharField(max_length=200)
    description_md = models.TextField(blank=True)
    result_kind = models.CharField(max_length=16, blank=True)
    selects_slots = models.BooleanField(default=False)
    evidence_schema = models.JSONField(null=True, blank=True)
    review_protocol = models.ForeignKey(
        "reviews.ReviewProtocol", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    external_system = models.CharField(max_length=120, blank=True)
    rule_owner = models.CharField(max_length=16, blank=True)
    acceptance = models.JSONField(null=True, blank=True)
    partner_rule_title = models.CharField(max_length=200, blank=True)
    partner_rule_url = models.URLField(max_length=2000, blank=True)
    deadline_s = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["contract", "key"], name="stage_key"),
            models.UniqueConstraint(fields=["contract", "position"], name="stage_position"),
            key_check("key", name="stage_key_form"),
            models.CheckConstraint(
                name="stage_kind_members",
                condition=models.Q(kind="sandbox", review_protocol=None, external_system="", rule_owner="")
                | models.Q(kind="review", review_protocol__isnull=False, external_system="", rule_owner="")
                | models.Q(kind="external", review_protocol=None, deadline_s__lte=7_776_000, rule_owner="contract")
                & models.Q(acceptance__isnull=False, evidence_schema__isnull=False)
                | models.Q(kind="external", review_protocol=None, deadline_s__lte=7_776_000, rule_owner="partner")
                & models.Q(acceptance__isnull=True)
                & ~models.Q(partner_rule_url=""),
            ),
        ]
        triggers = [
            write_once(),
            while_draft("NEW.contract_id"),
            trigger(
                "protocol_usable",
                pgtrigger.Insert,
                "IF NEW.review_protocol_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM reviews_reviewprotocol p "
                "WHERE p.id = NEW.review_protocol_id AND p.published_at IS NOT NULL AND p.yanked_at IS NULL "
                "AND p.purpose = 'acceptance' AND p.subject_kind = 'submission') THEN "
                + refuse("a review stage pins a published, not yanked acceptance protocol")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class StageSlot(Record):
    """A slot that a stage selects, explicitly or because the stage names none and so selects all."""

    stage = models.ForeignKey(ContractStage, on_delete=models.PROTECT, related_name="stage_slots")
    slot = models.ForeignKey(ReferenceSlot, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()
    # Place in the stage's `optional_reference_slots`; null for a slot that must be there.
    optional_position = models.PositiveSmallIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["stage", "slot"], name="stageslot_once")]
        triggers = [
            write_once(),
            trigger(
                "of_one_contract",
                pgtrigger.Insert,
                "IF NOT EXISTS (SELECT 1 FROM contracts_contractstage s JOIN contracts_referenceslot r "
                "ON r.contract_id = s.contract_id JOIN contracts_verifiercontract c ON c.id = s.contract_id "
                "WHERE s.id = NEW.stage_id AND r.id = NEW.slot_id AND s.kind = 'sandbox' "
                "AND c.published_at IS NULL FOR SHARE OF c) THEN "
                + refuse("a sandbox stage selects slots of its own draft contract")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stage_id} selects {self.slot_id}"
