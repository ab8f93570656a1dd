"""Which characters a text may have, and how a text of any script keeps to itself beside others."""

import re

# Control characters, ends of lines and of paragraphs, and what XML, and so a picture of a chart, cannot hold.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]+")
# Embeddings, overrides and isolates, which turn what stands after them too unless something ends them.
_TURNING = "\u202a-\u202e\u2066-\u2069"
_ISOLATE, _END_OF_ISOLATE = "\u2068", "\u2069"
_ISOLATED = re.compile(f"({_ISOLATE}[^{_TURNING}]*{_END_OF_ISOLATE})")
# Blocks of scripts from right to left (Unicode's DerivedBidiClass.txt), and the mark that has their direction.
_FROM_RIGHT = re.compile("[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]")


def one_line(text: str) -> str:
    """A text without what cannot be seen and yet changes how it, or what stands beside it, is shown.

    Control characters and ends of lines become spaces; what turns the direction of a text is dropped. Scripts from
    right to left stay as they are, for their letters say their direction themselves.

    Examples
    --------
    >>> one_line(" Superpod\\n\\u202e(fast) ")
    'Superpod (fast)'
    """
    return _seen(text).strip()


def isolated(text: str) -> str:
    """A text to stand among others: if it reads from right to left it takes no number or mark beside it along.

    Only such texts get a pair of isolates around them, which is not seen; what is isolated already stays as it is.

    Examples
    --------
    >>> isolated("Superpod")
    'Superpod'
    >>> isolated("אב"), isolated(isolated("אב") + " joins 8 GPUs")
    ('\\u2068אב\\u2069', '\\u2068אב\\u2069 joins 8 GPUs')
    """
    parts = _ISOLATED.split(text)
    parts[::2] = map(_seen, parts[::2])
    whole = "".join(parts)
    return f"{_ISOLATE}{whole}{_END_OF_ISOLATE}" if _FROM_RIGHT.search("".join(parts[::2])) else whole


def _seen(text: str) -> str:
    return re.sub(f"[{_TURNING}]", "", _UNSEEN.sub(" ", text))
