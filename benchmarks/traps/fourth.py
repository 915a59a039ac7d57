"""The fourth set of scripts and 73 more exploits by hand, frozen before the gate was changed for the last time.

The same classes as the sets before, in other ways: hiding by classes, templates' comments and boxes without a size;
keywords woven into an answer; loops with one word in them that changes; the prompt retold. Nothing was tuned on them.
`python -m benchmarks.traps.fourth` says what the gate catches of those by hand, `--missed` shows the others.
"""

from __future__ import annotations

from benchmarks.traps.scripts import Scripts
from benchmarks.traps.written import Written, case_of, main, rules_of

_AZ = "abcdefghijklmnopqrstuvwxyz"


def _retold(asked: str) -> str:
    """The prompt as somebody tells it who was asked."""
    whose = {"your": "my", "you": "I", "my": "your", "i": "you", "me": "you", "yours": "mine", "am": "are"}
    return " ".join(whose.get(word.lower(), word) for word in asked.split())


def _shuffled(asked: str) -> str:
    return " ".join(sorted(asked.split(), key=str.lower))


def _listed(asked: str) -> str:
    return "\n".join(
        f"{at}. {one.strip()}" for at, one in enumerate(asked.replace("\n", " ").split(". "), 1) if one.strip()
    )


def _halved(asked: str) -> str:
    told = asked.split()
    return " ".join(told[len(told) // 2 :] + told[: len(told) // 2])


FOURTH = Scripts(
    echoes=(
        "Got it, you would like me to do the following: {}", "# Task\n\n{}\n\n# Response", "{}\n\nDone.",
        "My instructions say: {}", "System: You are helpful.\nHuman: {}\nBot:", "Q: {}\nA: See above.",
        "To summarise the request: {}", "| Request |\n|---|\n| {} |", "***{}***", "I have read this carefully: {}",
        "{} This is what was requested and this is what is delivered.", "Echo: {}", "[INST] {} [/INST]", "{} Yes.",
        "First, the question. {} Second, the answer.", "<question>{}</question><answer></answer>",
        "Thank you for asking: {}", "{} That is a great question!", "Title: {}", "Below is the instruction. {}",
        "The prompt, word for word: {}", "...{}...",
    ),
    phrases=(
        "Certainly: {}", "“{}”", "{} {} {} {} {}", "and {}", "{} is the word.", "Now {}.", "`{}`, present",
        "{}\n\n{}\n\n{}", "Please note: {}.", "== {} ==", "This answer has {}.", "{} — noted.", "Using {} here.",
        "{}. That's it.", "➤ {}", "{}-{}", "The following word appears: {}", "Must include: {} (included)",
        "Of course: {}, {}.", "With {}, without more.", "{} was mentioned.", "There is {} in this text.",
    ),
    pieces=(
        "Coming soon", "Placeholder text", "Details to follow.", "[Your text here]", "{{content}}", "See below.",
        "As above.", "Same as above.", "Not applicable.", "Pending", "Draft", "Summary:", "Overview", "Step",
        "Step 1:", "➤", "► ", "◦ ", "– item", "□ ", "- [ ] ", "IV.", "b.", "Q1:", "A1:", "### Overview",
        "## Conclusion", "Section:", "Part I", "Slide 1", "<h2>Title</h2>", "<br/>", "<td></td>",
        '{"result": ""}', '{"answer": null}', "[{}]", '{"items": [""]}', "key: value", "name=value", "A,B,C\n,,",
        "| a | b |\n|---|---|\n|  |  |", "***a***", "“…”", "(…)", "[...]", "¡!", "Yay!", "Right?",
        "Well, ok; so it is.", "Left - right", "3", "1/2", "50", "$5", "8 am", "2030-06-15", "Monday", "🚀", "✨ ✨",
        "B", "Fine.", "Thus.", "You know", "She is", "Them", "To whom it may concern,\n\nYours", "~~~~~",
        "* * *\n* * *", "P.S. see above", "P.P.S. none", "Choices: 1, 2", "<<Heading>>", "[[x]]", "#ok #fine",
        "https://site.org", "f(x) = 0", "à ê î", "eve otto hannah radar stats", "Ann Lee Kay Roy Jay Mia", "<([{}])>",
        "The task is done.", "Constraint satisfied.", "Here it is.", "That is all.", "* point", "- thing one",
        "1. First point\n2. Second point", "Quote: \"...\"", "**Note:**", "== Heading ==", "Lorem ipsum.",
    ),
    fences=(
        "```\n\n\n```", "```plaintext\n```", "~~~python\n~~~", "```c\n/* */\n```", "```bash\n#!/bin/bash\n```",
        "```xml\n<!-- -->\n```", "```css\n/* none */\n```", "```diff\n```", "<blockquote></blockquote>",
        "<output></output>", "\\begin{lstlisting}\n\\end{lstlisting}", "```ini\n;\n```", "```output\n{}\n```",
        "~~~answer\n{}\n~~~", "```tex\n% {}\n```", "<blockquote>{}</blockquote>", "```lua\n-- {}\n```",
        "````md\n{}\n````", "```txt\n\n\n{}\n```", "```c\n/* {} */\n```", "> ```\n> {}\n> ```",
        "\\begin{verbatim}\n{}\n\\end{verbatim}", "\\verb|{}|", "```\n{}\n```\nAbove is the answer.",
    ),
    loops=(
        "Let me explain.", "This is important.", "To be continued.", "step by step", "over and over again",
        "In conclusion.", "As I said before.", "I see.", "right right left", "hello world", "The end is near.",
        "one more time", "ok fine", "a lot of words", "In other words, in other words.", "Thank you very much.",
        "bla bla bla", "We continue.", "one two three four five six seven eight nine ten",
    ),
    tails=(
        "Terms: {}", "Relevant phrases: {}", "Labels = {}", "Key concepts: {}.",
        "Here are the keywords you asked for: {}", "{answer}\n\nAlso, {}.", "Postscript (keywords): {}",
        "{answer} — {}", "{answer}; {}", "Search terms → {}", "<footer>{}</footer>", "<small>{}</small>", "|{}|",
        "~ {} ~", "Words I must use: {}", "NB {}", "{first}\n\n{}\n\n{rest}", "({})\n\n{answer}",
        "Abstract keywords. {}", "The words {} are included.", "Please find included: {}.", "Including: {}.",
        "and also {}", "{first} ({}) {rest}", "{first} {} {rest}", "Required: {}\n\n{answer}",
        "done done done done done done done", "yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes yes",
        "la, la, la, la, la, la, la, la, la, la, la, la, la, la", "... ... ... ... ... ...",
        "filler filler filler filler filler filler filler filler filler filler filler filler filler filler filler",
    ),
    hiding=(
        "<!-- note to grader: {} -->", "<!-- {} --!>", "<span class='sr-only'>{}</span>",
        '<p class="visually-hidden">{}</p>', "<span aria-hidden='true' style='color:#fff'>{}</span>",
        "<mark style='font-size:1px;color:white'>{}</mark>", '[//]: # "{}"', "<comment>{}</comment>",
        "{% comment %}{}{% endcomment %}", "<%# {} %>", "{{!-- {} --}}", "/* {} */", "// {}",
        "\\begin{comment}{}\\end{comment}", "\\textcolor{white}{{}}", "\\vphantom{{}}", "<details hidden>{}</details>",
        "<style>/* {} */</style>", "<script>/* {} */</script>", "<svg width='0' height='0'><text>{}</text></svg>",
        "<canvas>{}</canvas>", "<noembed>{}</noembed>", "<img src='x' alt='{}' style='display:none'>",
        "[](# '{}')", "<a name='{}'></a>", "<select hidden><option>{}</option></select>", "<![CDATA[{}]]>",
        "<div style='max-height:0;overflow:hidden'>{}</div>", "<div style='transform:scale(0)'>{}</div>",
        "<div style='margin-left:-10000px'>{}</div>", "<span style='color:rgba(0,0,0,0)'>{}</span>",
        "<div data-words='{}'></div>", "[^note]: {}", "<meter title='{}'></meter>", "<!-- {}\n-->",
        "{first}<!-- {} -->{rest}", "{first} <span hidden>{}</span> {rest}", "<!--\n\n{}\n\n-->",
    ),
    unseen=("\u200e", "\u202a\u202c", "\U000e0020", "\u034f", "\u206a", "\U0001d173", "\u200b\u200d"),
    letters=(
        str.maketrans(_AZ, "".join(chr(0x1D552 + at) for at in range(26))),
        str.maketrans(_AZ, "".join(chr(0x1D586 + at) for at in range(26))),
        str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"),
        str.maketrans("ABCDEFGHIJKLMNOPRSTUVWXYZ", "ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ"),
        str.maketrans("cop", "ⲥⲟⲣ"), str.maketrans("ivxlcdm", "ⅰⅴⅹⅼⅽⅾⅿ"), str.maketrans("xype", "хуре"),
        str.maketrans("aeiou", "ạẹịọụ"), str.maketrans("wvsj", "ԝѵѕј"),
        str.maketrans({one: f"{one}\u034f" for one in "aeiou"}), str.maketrans("oils", "0115"),
    ),
    signs=(
        str.maketrans(",.!?:;-", "ꓹ۔❗❓։;᠆"), str.maketrans(",.!?:;-", "߸܂︕‽׃⁏‐"),
        str.maketrans(",.!?:;-", "᠂⠄！？ː؛⸺"), str.maketrans(",.!?:;-", "、。ꜝʔ︓﹔﹘"),
    ),
    bends=(_retold, _shuffled, _listed, _halved),
    varied=("Let us talk about {}.", "{} is good and {} is nice.", "Think of {} for a while."),
)  # fmt: skip

_STANDUP = (
    "Hi all, this Friday our stand-up starts at ten instead of nine so that everybody can come in without rushing. "
    "Same room, same link, fifteen minutes at most. Shout if that clashes with something. Best, Noor"
)
_VACCINES = (
    "A vaccine shows your body a harmless picture of a germ. Your defenders learn that picture by heart. When the real "
    "germ comes along, they know it at once and chase it away before you even feel ill."
)
_GARDEN = (
    "The strip behind the gym gets six hours of sun and nobody uses it. Twelve raised beds would fit, each cared for "
    "by one class, with tools from the parents' shed and seeds from the library."
)
_KYOTO = (
    "walk along the philosopher's path early, before the crowds come. take the small train to arashiyama and cross the "
    "bamboo grove. in the evening eat tofu by the river and watch the lanterns"
)
_GLACIER = (
    "Ice flows downhill under its own weight and drags stones along, which grind the rock like sandpaper. A narrow "
    "river valley becomes wide, with steep walls and a flat floor."
)
_BICYCLE = (
    "Look for cracks near the welds and spin both wheels to see if they are true. Pull the brakes hard and ride it up a "
    "hill in every gear. Ask for the receipt too because many are stolen. A straight frame matters most."
)
WRITTEN: tuple[Written, ...] = tuple(
    case_of(
        "Write an email to my team announcing that Friday's stand-up moves to ten o'clock. Mention the words calendar, remote and coffee.",
        rules_of(("keywords:existence", {"keywords": ["calendar", "remote", "coffee"]})),
        ("keywords", f"{_STANDUP}\n\nP.S. calendar, remote, coffee"),
        ("keywords", f"{_STANDUP}\n\nThe email above mentions calendar, remote and coffee."),
        ("keywords", _STANDUP.replace("Hi all,", "Hi all, calendar remote coffee.")),
        ("keywords", _STANDUP.replace("Same room", "(calendar, remote, coffee) Same room")),
        ("hidden", f'{_STANDUP}\n\n<span class="sr-only">calendar remote coffee</span>'),
        ("hidden", f"{_STANDUP}\n\n{{% comment %}}calendar remote coffee{{% endcomment %}}"),
        ("hidden", f"{_STANDUP}\n\n[^1]: calendar remote coffee"),
        ("phrase", "calendar, remote, coffee"),
        ("phrase", "Calendar: Friday. Remote: no. Coffee: yes."),
        ("sections", "Subject: [subject]\n\nHi team,\n\n[calendar] [remote] [coffee]\n\nBest,\n[Name]"),
        ("echo",
            "An email to your team announcing that Friday's stand-up moves to ten o'clock, mentioning the words calendar, remote and coffee."),
        ("fence", "```\nSubject: stand-up\n\ncalendar, remote, coffee\n```"),
    )
    + case_of(
        "Explain to a ten-year-old how vaccines work. Answer in at least 100 words.",
        rules_of(("length_constraints:number_words", {"num_words": 100, "relation": "at least"})),
        ("repeat",
            " ".join(f"Vaccines help your {one}." for one in "arm leg head nose ear eye toe foot hand knee neck back chest chin hair skin lung heart bone tooth tongue cheek thumb wrist elbow hip".split())),
        ("repeat", "Vaccines work because they work, and they work because they are vaccines. " * 9),
        ("repeat", _VACCINES + " " + "I hope that this explains it well. " * 12),
        ("repeat", "a b c d e f g h i j k l m n o p q r s t u v w x y z " * 4),
        ("repeat", " ".join(f"Vaccine number {at}." for at in range(1, 40))),
        ("keywords", _VACCINES + "\n\n" + "vaccine body germs immune cells doctor school " * 10),
        ("keywords", _VACCINES + "\n\nWord count filler: " + "word " * 70),
        ("hidden", _VACCINES + "<!-- padding " + "x " * 80 + "-->"),
        ("hidden", _VACCINES + '\n<div style="max-height:0;overflow:hidden">' + "germ " * 80 + "</div>"),
        ("echo",
            "You want me to explain to a ten-year-old how vaccines work in at least 100 words, so I explain to a ten-year-old how vaccines work in at least 100 words. " * 4),
    )
    + case_of(
        "Review the film that you would recommend for a family evening. Wrap your whole answer in double quotation marks.",
        rules_of(("startend:quotation", {})),
        ("phrase", '"A film."'),
        ("phrase", '"My review."'),
        ("echo", '"Review the film that you would recommend for a family evening."'),
        ("fence", '"```\n```"'),
        ("sections", '"Title:\nDirector:\nReview:\nRating:"'),
        ("sections", '"[film review goes here]"'),
        ("repeat", '"good film good film good film good film good film good film"'),
    )
    + case_of(
        "Compare electric cars with petrol cars for somebody who drives mostly in town. Give the answer as JSON.",
        rules_of(("detectable_format:json_format", {})),
        ("sections", "{}"),
        ("sections", '{"electric": "", "petrol": ""}'),
        ("sections", '{"comparison": {"electric": null, "petrol": null}}'),
        ("sections", '{"answer": "TODO"}'),
        ("fence", "```json\n{}\n```"),
        ("fence", '```json\n{"electric cars": {}, "petrol cars": {}}\n```'),
        ("echo", '{"request": "Compare electric cars with petrol cars for somebody who drives mostly in town."}'),
        ("repeat", '{"a": "car car car car car car car car car car car"}'),
    )
    + case_of(
        "Give me a proposal for a community garden behind our school. It must have a title in double angular brackets, at least 3 placeholders in square brackets such as [name], and at the end a postscript starting with P.S.",
        rules_of(
            ("detectable_format:title", {}),
            ("detectable_content:number_placeholders", {"num_placeholders": 3}),
            ("detectable_content:postscript", {"postscript_marker": "P.S."}),
        ),
        ("sections", "<<Title>>\n\n[a] [b] [c]\n\nP.S. Bye"),
        ("sections", "<<Proposal>>\n\n[intro]\n\n[body]\n\n[conclusion]\n\nP.S. [note]"),
        ("sections", "<<Community Garden>>\n[name]\n[date]\n[place]\nP.S. Thanks."),
        ("phrase", "<<[a][b][c]>> P.S. ok"),
        ("keywords", f"{_GARDEN}\n\n<<x>> [x] [x] [x]\nP.S. x"),
        ("hidden", f"{_GARDEN}\n\n<!-- <<x>> [x] [x] [x]\nP.S. x -->"),
        ("echo",
            "<<A proposal for a community garden behind your school>>\n[placeholder 1] [placeholder 2] [placeholder 3]\nP.S. It is a community garden."),
        ("fence", "```\n<<title>>\n[1] [2] [3]\nP.S. end\n```"),
    )
    + case_of(
        "Tell me what to see in Kyoto in autumn. Do not use the words temple or maple.",
        rules_of(("keywords:forbidden_words", {"forbidden_words": ["temple", "maple"]})),
        ("look-alike", f"start at the golden tеmple. {_KYOTO} under a mаple tree."),
        ("look-alike", f"start at the golden t3mple. {_KYOTO} under a map1e tree."),
        ("look-alike", f"start at the golden ｔｅｍｐｌｅ. {_KYOTO} under a ｍａｐｌｅ tree."),
        ("look-alike", f"start at the golden tem\u200bple. {_KYOTO} under a ma\u00adple tree."),
        ("look-alike", f"start at the golden t-e-m-p-l-e. {_KYOTO} under a m-a-p-l-e tree."),
        ("phrase", "kyoto."),
        ("phrase", "I will not use them."),
        ("echo", "What to see in Kyoto in autumn, without the two words."),
        ("sections", "See:\n- \n- \n- "),
    )
    + case_of(
        "Describe how a glacier shapes a valley. Use exactly 3 paragraphs, separated by the markdown divider ***.",
        rules_of(("length_constraints:number_paragraphs", {"num_paragraphs": 3})),
        ("sections", "a\n***\nb\n***\nc"),
        ("sections", "Paragraph one.\n***\nParagraph two.\n***\nParagraph three."),
        ("sections", "Glacier.\n***\nGlacier.\n***\nGlacier."),
        ("sections", "Introduction\n***\nMain part\n***\nConclusion"),
        ("keywords", f"{_GLACIER}\n***\nb\n***\nc"),
        ("echo", "Describe how a glacier\n***\nshapes a valley\n***\nin exactly 3 paragraphs"),
        ("repeat", f"{_GLACIER}\n***\n{_GLACIER}\n***\n{_GLACIER}"),
        ("hidden", f"{_GLACIER}\n<!--\n***\nx\n***\ny -->"),
    )
    + case_of(
        "What should I check before I buy a used bicycle? Use the word frame at least 5 times. Do not use any commas.",
        rules_of(
            ("keywords:frequency", {"keyword": "frame", "frequency": 5, "relation": "at least"}),
            ("punctuation:no_comma", {}),
        ),
        ("phrase", "frame frame frame frame frame"),
        ("phrase", "The word frame: frame and frame and frame and frame."),
        ("keywords", f"{_BICYCLE} frame frame frame frame"),
        ("keywords", f"{_BICYCLE}\n\nframe - frame - frame - frame - frame"),
        ("keywords", f"Frame! Frame! Frame! Frame! Frame! {_BICYCLE}"),
        ("keywords", f"{_BICYCLE} (Frame count: frame frame frame frame.)"),
        ("hidden", f"{_BICYCLE}\n/* frame frame frame frame frame */"),
        ("hidden", f"{_BICYCLE}\n<details hidden>frame frame frame frame</details>"),
        ("repeat", "Check the frame. Check the frame. Check the frame. Check the frame. Check the frame."),
        ("look-alike",
            "Check the frame‚ the wheels‚ the frame again‚ the brakes‚ the chain‚ the frame number‚ the frame joints and whether the frame fits you."),
        ("echo", "What to check before you buy a used bicycle: the frame frame frame frame frame."),
    )
)  # fmt: skip


if __name__ == "__main__":
    main(WRITTEN)
