"""Texts that look the same as one text: Unicode forms, capitals, white space, invisible characters."""

from __future__ import annotations

import unicodedata

import polars as pl

_INVISIBLE = (
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer vowels that are not shown
    (0x180B, 0x180F),  # Mongolian variation selectors
    (0x2800, 0x2800),  # Braille pattern without dots
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFFA0, 0xFFA0),  # half-width Hangul filler
    (0xE0000, 0xE0FFF),  # tags and more variation selectors
)
"""Characters that are not shown although their category is neither format (Cf) nor control (Cc)."""


def normalized(texts: pl.Series) -> pl.Series:
    """Return texts such that those that look the same are equal; null stays null.

    Compatibility forms are replaced (Unicode NFKC: the ligature in "ﬂu", full-width letters, accents written
    separately), capitals are folded, invisible characters are removed, and white space is one space between
    words and none at the ends. Letters of other scripts that look similar stay different.

    Parameters
    ----------
    texts
        A series of texts. Each different one is looked at once.

    Returns
    -------
    pl.Series
        The normalized texts, in O(characters).
    """
    given = texts.to_list()
    known = {text: None if text is None else normalized_text(text) for text in set(given)}
    return pl.Series(texts.name, [known[text] for text in given], dtype=pl.String)


def normalized_text(text: str) -> str:
    """Return one text as `normalized` does."""
    if text.isascii() and text.isprintable():
        return " ".join(text.casefold().split())
    # Folding can undo the normal form, and the normal form can bring capitals back.
    for _ in range(2):
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = "".join(character for character in text if character.isspace() or not _hidden(character))
    return " ".join(text.split())


def _hidden(character: str) -> bool:
    """Return whether a character is invisible."""
    code = ord(character)
    return unicodedata.category(character) in ("Cf", "Cc") or any(
        first <= code <= last for first, last in _INVISIBLE
    )
