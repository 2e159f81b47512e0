"""Tests of `aiflow.compiler.explain`: every code is explained, from its check's docstring."""

from __future__ import annotations

import pytest

from aiflow.compiler.compile import CHECKS
from aiflow.compiler.explain import FAMILIES, Explanation, explanation_of, explanations
from aiflow.compiler.findings import Check
from tests.runtime.compiler.parts import ONLY_WITH_A_PLUGIN

KNOWN = explanations()


@pytest.mark.parametrize("found", KNOWN.values(), ids=lambda found: found.code)
def test_every_code_says_what_why_an_example_and_what_to_do(found: Explanation) -> None:
    """Whoever adds a check cannot forget one of them."""
    for text in (found.summary, found.why, found.example, found.remedy):
        assert text.endswith("."), text
        assert text[0].isupper() or not text[0].isalpha(), text
    assert found.family in FAMILIES.values()
    assert bool(found.files) == (found.code not in ONLY_WITH_A_PLUGIN)
    assert len({found.summary, found.why, found.example, found.remedy}) == 4


def test_no_check_is_left_out() -> None:
    """As many explanations as checks, in order of code."""
    assert len(KNOWN) == len(CHECKS)
    assert list(KNOWN) == sorted(KNOWN)


def test_a_docstring_is_taken_apart_at_its_labels() -> None:
    """Lines of one part are joined, and what stands before the first label are details."""

    def check(_: object) -> None:
        """AF999: it is so.

        And so.

        Why: it is
            bad.
        For example: this.
        Remedy: do
            that.
        """

    found = explanation_of(check)  # type: ignore[arg-type]

    assert (found.code, found.summary, found.details) == ("AF999", "It is so.", "And so.")
    assert (found.why, found.example, found.remedy) == ("It is bad.", "This.", "Do that.")


def test_a_check_without_a_code_is_refused() -> None:
    """A broken promise of ours, not of the graph's."""
    check: Check = lambda _: iter(())  # noqa: E731

    with pytest.raises(ValueError, match="does not begin with its code"):
        explanation_of(check)
