"""Searching a text that still grows, so that no match leaves before it is seen whole.

The last `window` letters are always undecided. A match that begins before them, and is no longer
than the window, lies within what has come: whether it is one cannot change any more. So what is
decided is the same for every cut of the text (property-tested), and each letter is looked at
about `window` times at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence


class Rules:
    """What must not pass, ready to be searched for.

    Args:
        terms: texts, none empty.
        patterns: regular expressions that match no empty text.
    """

    def __init__(
        self, terms: Sequence[str], patterns: Sequence[str], *, ignore_case: bool = False
    ) -> None:
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        self._patterns = [re.compile(pattern, flags) for pattern in patterns]
        self._terms: re.Pattern[str] | None = None
        if terms:
            # Looked ahead for, so that terms that overlap are all found; the longest comes first.
            longest_first = sorted(set(terms), key=lambda term: (-len(term), term))
            choices = "|".join(re.escape(term) for term in longest_first)
            self._terms = re.compile(f"(?=({choices}))", flags)

    @property
    def count(self) -> int:
        """How many searches there are."""
        return len(self._patterns) + (self._terms is not None)

    def matches(self, which: int, text: str, start: int) -> Iterator[tuple[int, int, int]]:
        """Yield the matches of one search from `start`: begin, end, where to search next."""
        if which == len(self._patterns):
            assert self._terms is not None
            for found in self._terms.finditer(text, start):
                yield found.start(1), found.end(1), found.start(1) + 1
            return
        for found in self._patterns[which].finditer(text, start):
            if found.end() > found.start():
                yield found.start(), found.end(), found.end()


class GrowingText:
    """One text: what has left (its last letters, as context) and what has not.

    Args:
        window: letters at the end that stay undecided, 1 or more.

    Attributes:
        length: letters of the text so far, those forgotten included.
    """

    def __init__(self, rules: Rules, window: int) -> None:
        self.length = 0
        self._rules = rules
        self._window = window
        self._text = ""
        self._mask = bytearray()  # 1 for each letter that is withheld
        self._forgotten = 0  # letters before `_text`
        self._taken = 0  # all positions below count from the text's first letter
        self._searched = [0] * rules.count
        self._is_withholding = False

    def add(self, text: str) -> None:
        """Put more behind it."""
        self._text += text
        self._mask.extend(bytes(len(text)))
        self.length += len(text)

    def decide(self, *, is_end: bool = False) -> int:
        """Search what came; return up to which letter it is decided.

        Args:
            is_end: decide all of it, because it leaves now. Should the text grow later, what
                then turns out to belong to a match is withheld as far as it has not left.
        """
        sure = max(self._forgotten, self.length - self._window)
        for which in range(self._rules.count):
            start = self._searched[which]
            then = start
            for begin, end, after in self._rules.matches(
                which, self._text, start - self._forgotten
            ):
                if not is_end and begin + self._forgotten >= sure:
                    break
                self._mask[begin:end] = b"\1" * (end - begin)
                then = after + self._forgotten
            self._searched[which] = max(start if is_end else then, sure)
        return self.length if is_end else max(sure, self._taken)

    def take(self, end: int, replacement: str, *, is_cut: bool = False) -> tuple[str, int]:
        """Return the letters up to `end` that were not taken yet, and how many gaps begin there.

        Args:
            end: at most what `decide` returned.
            replacement: stands where a gap begins; a gap that goes on from before has none.
            is_cut: end behind the first gap that begins.
        """
        parts: list[str] = []
        begun = 0
        at = self._taken - self._forgotten
        last = end - self._forgotten
        while at < last:
            is_withheld = self._mask[at] == 1
            found = self._mask.find(0 if is_withheld else 1, at, last)
            until = last if found < 0 else found
            if not is_withheld:
                parts.append(self._text[at:until])
            elif not self._is_withholding:
                begun += 1
                parts.append(replacement)
            self._is_withholding = is_withheld
            at = until
            if begun and is_cut:
                break
        self._taken = end
        self._forget()
        return "".join(parts), begun

    def _forget(self) -> None:
        """Keep of what has left no more than a match could begin in or look back at."""
        surplus = min(self._taken, *self._searched, self.length) - self._window - self._forgotten
        if surplus > self._window:
            self._text = self._text[surplus:]
            del self._mask[:surplus]
            self._forgotten += surplus
