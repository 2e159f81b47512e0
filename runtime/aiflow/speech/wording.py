"""From a written text to what a voice says of it, in pieces that are soon made.

A piece is a sentence where sentences are short. So the first sound comes soon, and what a
cancelled turn throws away is little.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

#: Letters of the longest piece; about 20 seconds of speech.
LONGEST = 300

# A small letter goes on with the sentence, as behind "e.g."; Chinese and Japanese have no blank.
_ENDS = re.compile(
    "(?<=[.!?…])[\"'\u201d\u2019)\\]]*\\s+(?![a-z\\s])|(?<=[\u3002\uff01\uff1f])\\s*|\n+"
)
# Marks that would be read out: **bold**, `code`, and the # of a heading.
_MARKS = re.compile(r"(?m)[*`~]+(?=\S)|(?<=\S)[*`~]+|^\s*#+\s+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")
# Where a long sentence is best cut, best first.
_CUTS = (re.compile("[,;:\u2014\u3001\uff0c\uff1b]\\s*"), re.compile(r"\s+"))
_UNSAYABLE = {"Cc", "Cs", "Co", "Cn"}


def pieces(text: str) -> list[str]:
    """Return what is said of a text, sentence by sentence.

    Returns:
        Pieces of 1 to `LONGEST` letters, each with a letter or a digit in it; none where
        there is nothing to say, as in a row of dashes.
    """
    text = _MARKS.sub("", "".join(map(_sayable, text)))
    sentences = (" ".join(each.split()) for each in _ENDS.split(text))
    return [
        piece
        for sentence in sentences
        for piece in _short(sentence)
        if any(map(str.isalnum, piece))
    ]


def _sayable(letter: str) -> str:
    """Return a letter, or a blank for a picture and for what no voice knows."""
    kind = unicodedata.category(letter)
    is_picture = kind in {"So", "Sk"} and (letter >= "\U0001f000" or "\u2600" <= letter <= "\u27bf")
    return " " if is_picture or (kind in _UNSAYABLE and letter != "\n") else letter


def _short(sentence: str) -> Iterator[str]:
    """Yield a sentence, cut where it is too long."""
    while len(sentence) > LONGEST:
        end = _cut(sentence)
        yield sentence[:end].rstrip()
        sentence = sentence[end:].lstrip()
    if sentence:
        yield sentence


def _cut(sentence: str) -> int:
    """Return the last good place to cut, not in the first half."""
    for cut in _CUTS:
        ends = [found.end() for found in cut.finditer(sentence, LONGEST // 2, LONGEST)]
        if ends:
            return ends[-1]
    return LONGEST
