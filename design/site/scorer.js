// The scores of the site's search: those of Sphinx, and what each part of the site adds. Pages for
// people who use functier come first, the notes on how it is made last.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  parts: {
    "start/": 3,
    "howto/": 3,
    "tutorials/": 2,
    "gallery/": -8,
    "project/": -8,
    "project/changelog": -30,
    "design/": -60,
  },
  score: (result) => {
    let score = result[4];
    for (const [part, added] of Object.entries(Scorer.parts))
      if (result[0].startsWith(part)) score += added;
    return score;
  },
};
