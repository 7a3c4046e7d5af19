"""The forms of the participant's path: a file to upload, and which files to submit."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from submissions.models import Artifact
from verification.contracts.models import ArtifactRole, VerifierContract
from verification.engine.outcome import display_safe
from web.quantities import exact_size_words
from web.uploads import canonical_media_type

MAX_SUMMARY_CHARACTERS = 20_000
NAME_CHARACTERS = 80
BROWSER = "browser"
NO_FILE = "none"


class UploadForm(forms.Form):
    """One file, and what its owner says it is."""

    file = forms.FileField(label="File", allow_empty_file=True, error_messages={"required": "Choose a file first."})
    media_type = forms.ChoiceField(
        label="Declare it as",
        help_text="A declaration only: the checker reads the bytes, whatever they are called.",
    )

    def __init__(self, *args: Any, roles: Sequence[ArtifactRole] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        types = list(dict.fromkeys(media_type for role in roles for media_type in role.media_types))
        if not types:
            del self.fields["media_type"]
            return
        choices = [(media_type, f"{media_type}, as the Contract asks") for media_type in types]
        self.fields["media_type"] = forms.ChoiceField(
            label="Declare it as",
            choices=[*choices, (BROWSER, "what my browser says it is")],
            initial=types[0],
            help_text=self.fields["media_type"].help_text,
        )

    @property
    def upload(self) -> "UploadedFile[Any]":
        """The file that came."""
        found: UploadedFile[Any] = self.cleaned_data["file"]
        return found

    @property
    def declared_type(self) -> str:
        """The chosen media type, else the browser's, in canonical form."""
        chosen = self.cleaned_data.get("media_type", BROWSER)
        return canonical_media_type(self.upload.content_type if chosen == BROWSER else chosen)


def artifact_label(artifact: Artifact) -> str:
    """An Artifact in a list of choices: name, size and declared type, whatever characters the name has."""
    name = display_safe(artifact.filename, max_characters=NAME_CHARACTERS)
    return f"{name}, {exact_size_words(artifact.size_bytes)}, {artifact.media_type}"


class ChooseForm(forms.Form):
    """Which uploaded file goes to which role, and the summary where the Contract takes one."""

    def __init__(
        self, *args: Any, artifacts: Sequence[Artifact], contract: VerifierContract | None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.artifacts = list(artifacts)
        self.roles = [] if contract is None else list(contract.roles.all())
        choices = [(artifact.pk, artifact_label(artifact)) for artifact in reversed(self.artifacts)]
        if contract is None:
            self.fields["artifacts"] = forms.MultipleChoiceField(
                label="Files, in the order in which they were uploaded",
                choices=list(reversed(choices)),
                initial=[value for value, _ in choices],
                widget=forms.CheckboxSelectMultiple,
                required=False,
            )
        taken: set[str] = set()
        for role in self.roles:
            fitting = _fitting(role, [a for a in reversed(self.artifacts) if a.pk not in taken])
            taken |= {fitting} if fitting else set()
            self.fields[role_field(role)] = forms.ChoiceField(
                label=f"File for {role.key}",
                choices=[*choices, (NO_FILE, "no file")],
                initial=fitting or NO_FILE,
            )
        if contract is None or contract.summary != "refused":
            self.fields["summary"] = forms.CharField(
                label="Summary",
                required=False,
                max_length=MAX_SUMMARY_CHARACTERS,
                widget=forms.Textarea(attrs={"rows": 6}),
                help_text=_summary_help(contract),
            )

    def clean(self) -> dict[str, Any]:
        """No file twice, and no gap before a file: a file's place decides its role."""
        cleaned: dict[str, Any] = super().clean() or {}
        is_missing, seen = "", set[str]()
        for role in self.roles:
            name = role_field(role)
            chosen = cleaned.get(name) or NO_FILE
            if chosen == NO_FILE:
                is_missing = is_missing or role.key
            elif is_missing:
                self.add_error(name, f"Files take their roles by order, so {is_missing} cannot be left out before it.")
            elif chosen in seen:
                self.add_error(name, "This file is chosen for another role already.")
            seen |= {chosen}
        if not self.errors and not self.artifact_ids and not cleaned.get("summary"):
            first = role_field(self.roles[0]) if self.roles else "artifacts"
            self.add_error(first, "Choose at least one file.")
        return cleaned

    @property
    def artifact_ids(self) -> list[str]:
        """The chosen files in their order."""
        if not self.roles:
            return list(self.cleaned_data.get("artifacts", []))
        chosen = [self.cleaned_data.get(role_field(role)) for role in self.roles]
        return [value for value in chosen if value and value != NO_FILE]

    @property
    def summary_md(self) -> str:
        """The summary, empty where none was written."""
        return str(self.cleaned_data.get("summary", ""))


def role_field(role: ArtifactRole) -> str:
    """The name of the field that chooses a role's file."""
    return f"role_{role.key}"


def _fitting(role: ArtifactRole, newest_first: Sequence[Artifact]) -> str:
    fits = [a.pk for a in newest_first if a.media_type in role.media_types and a.size_bytes <= role.max_bytes]
    return next(iter(fits), newest_first[0].pk if newest_first else "")


def _summary_help(contract: VerifierContract | None) -> str:
    asks = "The Contract requires one. " if contract is not None and contract.summary == "required" else ""
    return f"{asks}Markdown. It is shown beside the Submission and can never be edited."


class SendForm(forms.Form):
    """The one-time token of the check page."""

    token = forms.CharField(widget=forms.HiddenInput, max_length=64)


class CloseForm(forms.Form):
    """Nothing to fill in: the page says what changes, the button does it."""
