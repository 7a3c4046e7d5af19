"""The filter above the list of Problems: bounded words and a state."""

from django import forms

MAX_SEARCH_CHARACTERS = 200
MAX_SEARCH_WORDS = 8


class ProblemFilterForm(forms.Form):
    """Search words and whether a Problem takes work."""

    q = forms.CharField(
        label="Search title, summary and statement",
        required=False,
        max_length=MAX_SEARCH_CHARACTERS,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    state = forms.ChoiceField(
        label="State", required=False, choices=[("", "Any"), ("open", "Open"), ("closed", "Closed")]
    )

    def words(self) -> list[str]:
        """The words to look for, at most eight; none of an invalid form."""
        text: str = self.cleaned_data.get("q", "") if self.is_valid() else ""
        return text.split()[:MAX_SEARCH_WORDS]

    def state_wanted(self) -> str:
        """`open`, `closed` or empty; empty of an invalid form."""
        return str(self.cleaned_data.get("state", "")) if self.is_valid() else ""
