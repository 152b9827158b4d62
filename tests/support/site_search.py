"""The search of the site: the pages that it shows for some words, the first one first.

This computes for the index of a built site what Sphinx's ``searchtools.js`` does in a browser, with
the scores of ``design/site/scorer.js``.
"""

import json
import re

from support.site_pages import build

SCORES = {
    name.strip('"'): int(score)
    for name, score in re.findall(
        r'([a-zA-Z]+|"[\w/]+"): (-?\d+)', (build.SITE / "scorer.js").read_text("utf-8")
    )
}
"""The scores of ways to match, and what the parts of the site add."""


def load(html):
    """Return the index of a built site."""
    text = (html / "searchindex.js").read_text("utf-8").rstrip()
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


def share(score, query, text):
    return int(score * len(query) / len(text) + 0.5)


def headings(index, query):
    """Yield page and score for headings, and entries of the index, that have the whole query."""
    for heading, places in index["alltitles"].items():
        if query in heading.lower() and len(query) >= len(heading) / 2:
            for page, _ in places:
                whole = index["titles"][page] == heading
                yield page, share(SCORES["title"], query, heading) + whole
    for entry, places in index["indexentries"].items():
        if query in entry and len(query) >= len(entry) / 2:
            yield from ((page, share(100, query, entry)) for page, _, main in places if main)


def objects(index, words):
    """Yield page and score for each public name that has one of the words, and the others near."""
    for prefix, members in index["objects"].items():
        for page, kind, _, _, name in members:
            full, title = f"{prefix}.{name}".lower(), index["titles"][page]
            last = full.rpartition(".")[2]
            near = f"{prefix} {name} {index['objnames'][str(kind)][2]} {title}".lower()
            for word in words:
                if word in full and all(other in near for other in words - {word}):
                    match = "objNameMatch" if word in (full, last) else "objPartialMatch"
                    yield page, SCORES[match] * (word in last) + 5


def texts(index, stems):
    """Yield page and score for each page that has all words, each in whole or as part of one."""
    found = {}
    tables = ("term", index["terms"]), ("title", index["titleterms"])
    for stem in stems:
        for kind, table in tables:
            add(found, stem, table.get(stem, []), SCORES[kind])
        for kind, table in tables:
            if len(stem) > 2 and stem not in table:
                for term in table:
                    if stem in term:
                        add(found, stem, table[term], SCORES[f"partial{kind.title()}"])
    enough = {len(stems), sum(len(stem) > 2 for stem in stems)}
    return ((page, max(scores.values())) for page, scores in found.items() if len(scores) in enough)


def add(found, stem, pages, score):
    for page in pages if isinstance(pages, list) else [pages]:
        found.setdefault(page, {})[stem] = score


def search(index, query):
    """Return the pages for a query, the best one first."""
    from sphinx.search.en import SearchEnglish

    language = SearchEnglish({})
    query = query.lower()
    words = {*re.findall(r"\w+", query)}
    stems = {language.stem(word) for word in words - language.stopwords}
    best = {}
    for page, score in [*headings(index, query), *objects(index, words), *texts(index, stems)]:
        name = index["docnames"][page]
        score += sum(SCORES[part] for part in SCORES if "/" in part and name.startswith(part))
        best[name] = max(best.get(name, score), score)
    titles = dict(zip(index["docnames"], index["titles"]))
    return sorted(best, key=lambda name: (-best[name], titles[name].lower()))
