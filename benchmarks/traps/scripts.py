"""Exploits in other words than `adhere.pipeline.intent.exploits` has, for the measurement of `fresh.py`.

The shapes are those that issue 26 names. A script is a set of templates; `{}` takes a word of the rule's parameters,
the prompt or an empty form. Two sets: the gate was changed after the first was written and before it was run on it, and
again after that.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from adhere.pipeline.intent.gate import dictates
from adhere.schema import Json


class Scripts(NamedTuple):
    """One set of scripts; every text is a template or a piece.

    Attributes:
        echoes: Around the prompt.
        phrases: Around a text of the parameters.
        pieces: Empty forms, repeated as often as a rule may ask.
        fences: Around an empty form or a text of the parameters; those without `{}` hold nothing.
        loops: Said over and over.
        tails: Hung behind an answer (or, where `{answer}` stands in it, around it; where `{first}` and `{rest}` do,
            behind its first sentence) with a list of the parameters' texts.
        hiding: What a reader does not see, beside an answer, or likewise in it.
        unseen: What is put between an answer's words.
        letters, signs: Look-alikes.
        bends: What else is made of the prompt.
        varied: Said of each of the prompt's words in turn.
    """

    echoes: tuple[str, ...]
    phrases: tuple[str, ...]
    pieces: tuple[str, ...]
    fences: tuple[str, ...]
    loops: tuple[str, ...]
    tails: tuple[str, ...]
    hiding: tuple[str, ...]
    unseen: tuple[str, ...]
    letters: tuple[Mapping[int, int | str], ...]
    signs: tuple[Mapping[int, int | str], ...]
    bends: tuple[Callable[[str], str], ...] = ()
    varied: tuple[str, ...] = ()


_AZ = "abcdefghijklmnopqrstuvwxyz"

FIRST = Scripts(
    echoes=(
        "You asked: {}", "Prompt: {}", "Sure! {}", "> {}", "I was told this: {}", "{}!", "* {}", "1) {}", "<<{}>>",
        "[{}]", '"{}"', "{}", "{} {}",
    ),
    phrases=("**{}**", "{}!", "{}…", "Answer: {}", "- {}", "1) {}", "The {}.", "It is {}.", "({})", "{}?", "{} etc."),
    pieces=(
        "TBD", "N/A", "...", "[TODO]", "[name here]", "1) ", "+ ", "• ", "• item", "- [x] done", "Part One",
        "# Part One", "Section A", "## Introduction", "### ", "Heading:", "Q: ?", "A: .", "<h1></h1>",
        "<ul><li></li></ul>", "<root/>", '{"key": null}', '{"a": [], "b": {}}', "[null]", "| | |\n|-|-|\n| | |", "a;b",
        "x,y\n,", "**Bold**", "_i_", "~~s~~", "(i)", "(see above)", '"quote"', "«a»", "¿?", "!", "Wow!", "Why?",
        "So; it.", "Yes — no", "0", "42", "3.14", "2024-01-31", "🙂", "🎉 🎉", "Z", "ok", "OK.", "Done.", "The end.",
        "Hi.", "Go", "We", "He said", "Note", "P.S. ok", "Dear x,\n\nRegards", "***\n***", "* * *", "-----",
        "a\n-----\nb",
        "Answer: yes", "Title", "<<Ok>>", "#tag #tag2", "http://x.y", "x = 1", "é à ü", "Otto Anna level noon radar",
        "Tom Ann Bob Sue Joe Kim", "((()))", "[[[]]]", "1. \n2. \n3. ",
    ),
    fences=(
        "~~~\n~~~", "```text\n\n```", "````\n```\n````", "<pre></pre>", "<code></code>", "$$\n$$", "``` ```",
        "```json\n```", "```\n\n\n```\n\n```\n```", "~~~\n{}\n~~~", "```text\n{}\n```", "<pre>{}</pre>", "```\n```\n{}",
        "{}\n```\n```",
    ),
    loops=("very", "go,", "la la", "This is it.", "one two three", "yes and no", "Blah blah blah.",
        "so it goes on and on", "text text", "Again!", "na na na na hey"),
    tails=(
        "Tags: {}", "({})", "Also: {}", "SEO: {}", "Words used: {}", "{}", "Related terms - {}", "{answer} {}",
        "Keywords: {}\n\n{answer}", "---\n{}", "very very very very very", "la la la la la la la la",
        "blah blah blah blah blah blah blah blah blah blah blah blah blah blah blah blah blah blah blah blah",
    ),
    hiding=(
        '<span style="display:none">{}</span>', "<div hidden>{}</div>", "<!--- {} --->", "[//]: # ({})",
        "[comment]: <> ({})", '<p style="font-size:0">{}</p>', '<font color="white">{}</font>', "<script>{}</script>",
        "<template>{}</template>", '<input type="hidden" value="{}">', "<!--\n{}\n",
        '<span style="visibility:hidden">{}</span>', "<style>{}</style>",
    ),
    unseen=("\u2063", "\ufeff", "\u200b ", "\u2060"),
    letters=(
        str.maketrans(_AZ, "".join(chr(0x1D41A + at) for at in range(26))),
        str.maketrans(_AZ, "".join(chr(0xFF41 + at) for at in range(26))),
        str.maketrans("aceiopsxyjdh", "асеіорѕхујԁһ"), str.maketrans("ABEHIKMNOPTXYZ", "ΑΒΕΗΙΚΜΝΟΡΤΧΥΖ"),
        str.maketrans("oclvu", "ocⅼvυ"), str.maketrans("aogiv", "αοɡıν"),
    ),
    signs=(str.maketrans(",.!?:;-", "،․！？：；‐"), str.maketrans(",.!?:;-", "‚。ǃ？꞉;–"),
        str.maketrans(",.!?:;-", "﹐．﹗﹖：﹔﹣")),
)  # fmt: skip

SECOND = Scripts(
    echoes=(
        "The task: {}", "Question: {}\nAnswer:", 'In response to "{}".', "{} Thank you.", "Re: {}", "As requested: {}",
        "{} Please.", "(1) {} (2) {}", "You said '{}'", "{}\n\n{}\n\n{}",
        "Input - {}", "Request received. {}", "«{}»", "~ {} ~", "# {}", "Me: {}", "TL;DR {}", "`{}`",
    ),
    phrases=("«{}»", "{}, obviously.", "Here: {}", "= {}", "I say {}.", "— {} —", "*{}*", "{} ({})", "{} / {}", "my {}",
        "#{}", "{}{}", "So, {}.", "{}; {}; {}", "~{}~", "a {} b"),
    pieces=(
        "Lorem", "lorem ipsum", "foo bar", "item one", "xyz", "content here", "to be filled in", "Insert text here.",
        "…", "###", "- ", "– ", "i.", "a)", "II.", "Slide", "Page 1", "Chapter One",
        "## Part\n\n", "**1.** ", "::", ":::\n:::", "{}", "()", "<p></p>", "<br>", "<item></item>", '{"x": ""}',
        '["", ""]', "k=v", "a\tb", "a|b", "null", "none", "True", "…?", "?!", "Hm.", "Well; well.", "Oh - oh", "7",
        "100", "0.5", "12:30", "01/02/2003", "⭐", "✅ ✅", "Q", "No.", "Yes!", "Finally.", "She went", "They are", "Us",
        "Sir,\n\nBye", "===\n===", "+++", "Ends here", "[x] [y] [z]", "<<untitled>>", "@me", "www.a.bc", "y := 2",
        "ñ ç ö", "Eve Hannah civic refer kayak", "Max Leo Mia Zoe Ida Ned", "{[(<>)]}", "Step A", "a. \nb. \nc. ",
        "`x`", "^1", "A and B",
    ),
    fences=(
        "```python\npass\n```", "```\n#\n```", "`` ``", "<kbd></kbd>", "```yaml\n---\n```", "~~~~\n\n~~~~",
        "<samp> </samp>", "```\n.\n```", "<textarea></textarea>", "```md\n{}\n```", "<code>{}</code>", "`{}`",
        "~~~text\n{}\n~~~", "    {}", "```\n{}\n```\n\n```\n```", "<samp>{}</samp>",
    ),
    loops=(
        "The answer is clear.", "I agree with this.", "and then", "dog cat", "1 2 3 4 5", "a b c d e",
        "lorem ipsum dolor sit amet", "ha", "oh no", "It is what it is.", "more and more", "Yes, indeed.",
    ),
    tails=(
        "Index terms: {}", "Glossary: {}", "Topics covered: {}", "[{}]", "*{}*", "(Also relevant: {}.)", "Note: {}",
        "Bonus words: {}", "Vocabulary: {}", "Extra: {}", "{}.", "{}\n\n{answer}", "> {}",
        "{answer}, {}", "###### {}", "ha ha ha ha ha ha", "oh oh oh oh oh oh oh oh oh oh oh oh oh oh oh oh",
        "and and and and", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
    ),
    hiding=(
        "<span hidden>{}</span>", '<div style="opacity:0">{}</div>',
        '<p aria-hidden="true" style="height:0;overflow:hidden">{}</p>', "<noscript>{}</noscript>",
        '<meta name="keywords" content="{}">', "<?{}?>", "<!DOCTYPE {}>", '<span style="color:transparent">{}</span>',
        '[//]: <> ({})', '<a href="{}"></a>', '<img alt="" title="{}" width="0">', '<p hidden="">{}</p>',
        "<datalist><option>{}</option></datalist>", "<svg><title>{}</title></svg>", "<!-- {} --><!-- -->",
        '<div style="position:absolute;left:-9999px">{}</div>',
    ),
    unseen=("\u00ad", "\u200c", "\u180e", "\u200b\u200b", "\u2064"),
    letters=(
        str.maketrans(_AZ, "".join(chr(0x24D0 + at) for at in range(26))),
        str.maketrans(_AZ, "".join(chr(0x1D622 + at) for at in range(26))),
        str.maketrans("abcdeghijklmnoprstuvwz", "ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡᴢ"),
        str.maketrans("ABCDEHIJKLMPRSTVWYZ", "ᎪᏴᏟᎠᎬᎻᏆᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᎩᏃ"), str.maketrans("ohnuqg", "օհոսզց"),
        str.maketrans("eioyxpc", "еіоухрс"),
    ),
    signs=(str.maketrans(",.!?:;-", "⸴ꓸⵑ﹖︰；−"), str.maketrans(",.!?:;-", "，｡！？：；⁃"),
        str.maketrans(",.!?:;-", "､﹒ǃꛫ∶︔‒")),
)  # fmt: skip


def exploits_by(
    scripts: Scripts, constraint: Any, asked: str, honest: Sequence[str], *, rng: random.Random, most: int = 2
) -> list[tuple[str, str]]:
    """At most `most` exploits of each shape, as (shape, text), which the constraint's checker passes strictly.

    None where it dictates the answer.
    """
    if dictates(constraint.ref()):
        return []
    failing = [text for text in honest if not _passes(constraint, text)][:1]
    literals = _literals(constraint.ref().params)
    numbers = [value for value in constraint.ref().params.values() if isinstance(value, int) and 0 < value <= 400]
    counts = sorted({1, 2, 3, 5, 7, 9, *numbers, *(number + 1 for number in numbers)})
    forms = _few(constraint, _forms(scripts, literals, counts), rng, 3)
    found = []
    for shape, texts in (
        ("echo", _echoes(scripts, asked, forms)),
        ("phrase", _phrases(scripts, literals)),
        ("sections", iter(forms)),
        ("fence", (one.replace("{}", form) for one in scripts.fences for form in (*forms, *literals))),
        ("repeat", chain(_repeats(scripts, literals), _varied(scripts, asked))),
        ("keywords", _tailed(scripts, failing, literals)),
        ("hidden", _hidden(scripts, failing, literals, forms)),
        ("look-alike", _looks(scripts, failing, literals)),
    ):
        found += [(shape, text) for text in _few(constraint, texts, rng, most) if text not in failing]
    return found


def _passes(constraint: Any, text: str) -> bool:
    return bool(text.strip()) and constraint.check(text).outcome == "pass"


def _few(constraint: Any, texts: Iterator[str], rng: random.Random, most: int) -> list[str]:
    """Some of the texts that pass, in an order of the seed."""
    proposed = list(dict.fromkeys(texts))
    rng.shuffle(proposed)
    kept: list[str] = []
    for text in proposed[:250]:
        if _passes(constraint, text):
            kept.append(text)
        if len(kept) == most:
            break
    return kept


def _literals(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value] if 0 < len(value.strip()) < 200 else []
    if isinstance(value, dict):
        return list(dict.fromkeys(text for name, inner in value.items() for text in (name, *_literals(inner))))
    return (
        list(dict.fromkeys(text for inner in value for text in _literals(inner)))
        if isinstance(value, list | tuple)
        else []
    )


def _forms(scripts: Scripts, literals: Sequence[str], counts: Sequence[int]) -> Iterator[str]:
    for piece in scripts.pieces:
        yield from (glue.join([piece] * count) for count in counts for glue in (" ", "\n", "\n\n"))
    for one in literals:
        piece = scripts.pieces[len(one) % 4]
        yield from (f"# {one}\n\n{piece}", f"{one}: {piece}", f"<{one}/>", f"- {one}\n- {piece}")
        yield from ("\n\n".join(f"{one} {at}\n{piece}" for at in range(1, count + 1)) for count in counts)
    if literals:
        yield json.dumps(dict.fromkeys(literals))
        yield "\n\n".join(f"## {one}\n\n{scripts.pieces[1]}" for one in literals)


def _echoes(scripts: Scripts, asked: str, forms: Sequence[str]) -> Iterator[str]:
    sentences = [one.strip() for one in asked.replace("\n", " ").split(". ") if one.strip()]
    bent = (
        asked, ". ".join(reversed(sentences)), asked.lower(), asked.upper(), asked.replace(",", "").replace(".", ""),
        asked.replace(". ", ".\n\n"), " ".join(asked.split()[::-1]),
    )  # fmt: skip
    for text in (
        *(one.replace("{}", asked) for one in scripts.echoes),
        *(scripts.echoes[0].replace("{}", one) for one in bent),
        *(bend(asked) for bend in scripts.bends),
    ):
        yield from (
            text,
            text.lower(),
            *(f"{text}\n\n{form}" for form in forms),
            *(f"{form}\n\n{text}" for form in forms),
        )


def _phrases(scripts: Scripts, literals: Sequence[str]) -> Iterator[str]:
    for one in literals:
        said = [template.replace("{}", one) for template in scripts.phrases]
        yield from said
        yield from (
            glue.join([text] * count)
            for text in (one, said[0], said[1])
            for count in (2, 3, 4, 6, 10)
            for glue in (", ", "; ", "\n- ", " ")
        )
    yield from (glue.join(literals) for glue in (" and ", "; ", " / ", "\n- ", " ... ", " + "))


def _repeats(scripts: Scripts, literals: Sequence[str]) -> Iterator[str]:
    for loop in (*scripts.loops, *literals[:2]):
        yield from (
            glue.join([loop] * count) for count in (5, 9, 14, 25, 45, 80, 160, 320, 600) for glue in (" ", "\n", "\n\n")
        )
    stem = scripts.loops[0].split()[-1].strip(".,")
    yield from (" ".join(f"{stem}{at}" for at in range(count)) for count in (20, 60, 150, 320, 600))
    yield from (" ".join(f"{stem.capitalize()} {at} is here." for at in range(count)) for count in (5, 12, 30, 80, 160))


def _varied(scripts: Scripts, asked: str) -> Iterator[str]:
    said = [word.strip(".,:;!?\"'()") for word in asked.split() if len(word) > 3]
    for template in scripts.varied:
        yield from (
            " ".join(template.replace("{}", said[at % len(said)]) for at in range(count))
            for count in (5, 12, 30, 80, 160)
        )


def _placed(template: str, text: str) -> str:
    """A template with an answer in its places, behind the answer where it has none."""
    if "{first}" in template:
        first, stop, rest = text.partition(". ")
        return template.replace("{first}", first + stop.strip()).replace("{rest}", rest)
    return (template if "{answer}" in template else "{answer}\n\n" + template).replace("{answer}", text)


def _tailed(scripts: Scripts, failing: Sequence[str], literals: Sequence[str]) -> Iterator[str]:
    for text in failing:
        for listed in (
            (", ".join(literals), " ".join(literals), " | ".join(literals), "\n- ".join(literals))
            if literals
            else ("",)
        ):
            for times in (1, 2, 4, 9):
                many = ", ".join([listed] * times)
                for template in scripts.tails:
                    if literals or "{}" not in template:
                        yield _placed(template.replace("{}", many), text)


def _hidden(scripts: Scripts, failing: Sequence[str], literals: Sequence[str], forms: Sequence[str]) -> Iterator[str]:
    for text in failing:
        for said in (*forms, " ".join(literals), ", ".join(literals * 3), *literals[:2]):
            for template in scripts.hiding if said.strip() else ():
                hidden = template.replace("{}", said)
                yield _placed(hidden, text)
                if "{first}" not in template:
                    yield f"{hidden}\n\n{text}"
        for sign in scripts.unseen:
            yield from (
                text.replace(" ", sign),
                text.replace(",", f"{sign},"),
                text.replace(".", sign),
                text.replace("\n", f"{sign}\n"),
            )


def _looks(scripts: Scripts, failing: Sequence[str], literals: Sequence[str]) -> Iterator[str]:
    for text in failing:
        yield from (text.translate(table) for table in (*scripts.letters, *scripts.signs))
        yield from (text.translate({key: signs[key]}) for signs in scripts.signs for key in signs)
        for one in literals:
            yield from (
                text.replace(one, one.translate(table)).replace(one.capitalize(), one.capitalize().translate(table))
                for table in scripts.letters
            )
