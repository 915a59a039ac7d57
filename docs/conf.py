"""How `make docs` builds the site: the pages of this folder, and what only the program knows, printed from it as it is now.

A page holds `<!-- from the program: NAME -->` where NAME is one of PRINTED; on the code host such a line shows nothing.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from importlib.metadata import metadata
from pathlib import Path

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

import adhere
from adhere.cli import adhere as group
from adhere.report.pieces.glossary import GLOSSARY
from adhere.suites import describe

project = "adhere"
author = "The adhere authors"
copyright = "the adhere authors, Apache-2.0"  # noqa: A001 - Sphinx's name
version = release = adhere.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = f"adhere {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
highlight_language = "text"
pygments_style, pygments_dark_style = "xcode", "github-dark"  # their colours read on grey: contrast 4.5 and more

myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
smartquotes = False  # `--option` stays two hyphens
default_role = "literal"  # docstrings write `name` as Markdown does
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
python_use_unqualified_type_names = True
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_ivar = True  # fields of records, not objects of their own
napoleon_custom_sections = [("Class attributes", "params_style")]
toc_object_entries_show_parents = "hide"


def commands() -> str:
    """Every command with its usage, its help and its options."""

    def told(command: click.Command, context: click.Context, depth: int) -> Iterator[str]:
        yield f"{'#' * depth} {context.command_path}"
        yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
        for paragraph in (command.help or "").split("\n\n"):
            kept = paragraph.lstrip("\b\n")
            yield f"```text\n{kept}\n```" if paragraph.startswith("\b") else escape(" ".join(kept.split()))
        records = [
            r for p in command.get_params(context) if isinstance(p, click.Option) and (r := p.get_help_record(context))
        ]
        if records:
            rows = "\n".join(f"| `{cell(names)}` | {escape(cell(text))} |" for names, text in records)
            yield f"| option | what it does |\n|---|---|\n{rows}"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                if (one := command.get_command(context, name)) is not None:
                    yield from told(one, click.Context(one, context, name), depth + 1)

    def cell(text: str) -> str:
        return " ".join(text.split()).replace("|", "\\|")

    def escape(text: str) -> str:
        return re.sub(r"([<>*_\[\]])", r"\\\1", text)

    root = click.Context(group, info_name="adhere")
    parts = (
        part
        for name in group.list_commands(root)
        if (one := group.get_command(root, name)) is not None
        for part in told(one, click.Context(one, root, name), 2)
    )
    return "\n\n".join(parts)


def names(module: str) -> Callable[[], str]:
    """The public names of a module, each with its docstring."""

    def sort(thing: object) -> str:
        if not isinstance(thing, type):
            return "function" if inspect.isroutine(thing) else "data"
        return "exception" if issubclass(thing, Exception) else "class"

    def printed() -> str:
        home = importlib.import_module(module)
        found = [(sort(getattr(home, name)), name) for name in home.__all__]
        lines = [
            f".. auto{kind}:: {module}.{name}" for kind, name in sorted(found, key=lambda one: one[0] != "function")
        ]
        return "```{eval-rst}\n" + "\n\n".join(lines) + "\n```"

    return printed


def diagnostic() -> str:
    """The public items of the diagnostic suite, each with a right answer."""
    fence = "````"
    return "\n\n".join(
        f"### {prompt.tags['test']}\n\n{fence}text\n{prompt.text}\n{fence}\n\n"
        f"A right answer:\n\n{fence}text\n{prompt.constraints[0].params['expected']}\n{fence}"
        for prompt in adhere.load_suite("diagnostic").prompts
    )


def suites() -> str:
    """Every suite, as `adhere list suites` knows it."""
    rows = "\n".join(
        f"| `{one.name}` | {one.answers} | {one.size or '–'} | {one.tokens} | {one.paper or 'ours'} |"
        for one in describe()
    )
    return f"| suite | question | prompts | tokens | paper |\n|---|---|---:|---:|---|\n{rows}"


PRINTED: dict[str, Callable[[], str]] = {
    "commands": commands,
    "diagnostic": diagnostic,
    "suites": suites,
    "adhere": names("adhere"),
    "adhere.rewards": names("adhere.rewards"),
    "adhere.stats": names("adhere.stats"),
    "adhere.environments": names("adhere.environments"),
    "adhere.plot": names("adhere.plot"),
    "adhere.sandbox": names("adhere.sandbox"),
    "adhere.testing": names("adhere.testing"),
}


def print_from_the_program(_: Sphinx, __: str, source: list[str]) -> None:
    """Put what the program prints where a page asks for it, and pictures that follow the reader's theme. An unknown name stops the build."""
    picture = r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img alt="([^"]+)" src="([^"]+)">\s*</picture>'
    shown = "```{{image}} {}\n:alt: {}\n:class: only-{}\n```"
    source[0] = re.sub(
        picture, lambda m: shown.format(m[3], m[2], "light") + "\n\n" + shown.format(m[1], m[2], "dark"), source[0]
    )
    source[0] = re.sub(r"<!-- from the program: ([\w.]+) -->", lambda found: PRINTED[found[1]](), source[0])


def link_words(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link the first use of each in-house word of a page to the glossary; give the glossary's rows the anchors."""
    if page == "reference/glossary":
        for row in doctree.findall(nodes.row):
            row["ids"].append("word-" + nodes.make_id(row.children[0].astext()))
        return
    left = {word for word in GLOSSARY if word not in PLAIN}
    for text in list(doctree.findall(nodes.Text)):
        if not left or not isinstance(text.parent, nodes.paragraph) or isinstance(text.parent.parent, nodes.entry):
            continue
        found = re.search(
            rf"(?<![\w-])({'|'.join(map(re.escape, sorted(left, key=len, reverse=True)))})s?(?![\w-])", text
        )
        if found:
            word = found[1]
            left.discard(word)
            said = nodes.Text(found[0])
            link = make_refnode(
                app.builder, page, "reference/glossary", "word-" + nodes.make_id(word), said, GLOSSARY[word]
            )
            link["classes"] += ["word"]
            text.parent.replace(text, [nodes.Text(text[: found.start()]), link, nodes.Text(text[found.end() :])])


PLAIN = {
    "answer",
    "claim",
    "content",
    "control",
    "cut",
    "draw",
    "echo",
    "family",
    "judge",
    "kind",
    "run",
    "says",
    "view",
}
"""Words of the glossary that plain sentences use with their plain meaning."""


def write_llms_txt(app: Sphinx, failure: Exception | None) -> None:
    """`llms.txt`: every page with its title and its first sentence, for assistants (llmstxt.org)."""
    if failure is not None:
        return
    lines = [f"# {project}", "", f"> {metadata('adhere')['Summary']}"]
    for line in (Path(app.srcdir) / "index.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(":caption: "):
            lines += ["", f"## {line.removeprefix(':caption: ')}", ""]
        elif (page := line.rpartition("<")[2].rstrip(">")) in app.env.titles:
            first = next(app.env.get_doctree(page).findall(nodes.paragraph), nodes.paragraph()).astext()
            about = re.split(r"(?<=[.:?!])\s", " ".join(first.split()))[0]
            lines.append(f"- [{app.env.titles[page].astext()}]({page}.html): {about}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


ACCESSIBLE = (  # what axe finds in what Sphinx and furo write (tests/integration/test_axe.py)
    (r"<pre>", '<pre tabindex="0">'),  # a wide block is scrolled by keys
    (r'<div class="(table-wrapper[^"]*)">', r'<div class="\1" tabindex="0">'),
    (r'<th class="(head[^"]*)"><p></p></th>', r'<td class="\1"></td>'),  # a heading without a word is none
    (r'class="caption" role="heading">', 'class="caption" role="heading" aria-level="2">'),
    (r'<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    (r'<aside class="toc-drawer([^"]*)">', r'<aside class="toc-drawer\1" aria-label="On this page">'),
)


def let_everybody_read(app: Sphinx, _error: Exception | None) -> None:
    """Mend the written pages: focus on what scrolls, levels of headings, names of landmarks."""
    for path in Path(app.outdir).rglob("*.html"):
        text = mended = path.read_text(encoding="utf-8")
        for found, instead in ACCESSIBLE:
            mended = re.sub(found, instead, mended)
        if mended != text:
            path.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Sphinx's entry point."""
    app.connect("source-read", print_from_the_program)
    app.connect("doctree-resolved", link_words)
    app.connect("build-finished", write_llms_txt)
    app.connect("build-finished", let_everybody_read)
