"use strict";
// The list of items. Whatever comes from results is put in as text, never as markup.
(() => {
  const PAGE_SIZE = 50;
  const FIRST_PAIRS = 5;
  const FIRST_HELD = 6;
  const CHUNKS_KEPT = 40;
  const FILTERS = ["verdict", "bias_type", "intent", "model", "case"];
  const SYMBOLS = { pass: "✓", fail: "✗", inconclusive: "?", error: "!" };
  const DASH = "–";

  const byId = (id) => document.getElementById(id);

  function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  // ---- packed data -------------------------------------------------------------------------

  async function unpack(id) {
    const letters = atob(byId(id).textContent);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  let starts = [];
  const kept = new Map();

  function chunk(number) {
    const known = kept.get(number) || unpack(`chunk-${number}`);
    kept.delete(number);
    kept.set(number, known);
    if (kept.size > CHUNKS_KEPT) kept.delete(kept.keys().next().value);
    return known;
  }

  async function resultOf(item) {
    let low = 0;
    for (let high = starts.length; high - low > 1;) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= item) low = middle;
      else high = middle;
    }
    return (await chunk(low))[item - starts[low]];
  }

  // ---- differences between two texts -------------------------------------------------------

  const WORD = /\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}]+(?:['’\u2011-][\p{L}\p{M}\p{N}]+)*|./gsu;

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const alternatives = (names) => names.filter((name) => name.trim())
    .sort((one, other) => other.length - one.length).map(escaped).join("|");

  function patternOf(names, flags) {
    const any = alternatives(names.slice());
    return any ? new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})(?![\\p{L}\\p{N}])`, flags) : null;
  }

  // Pieces whose texts, joined, are the text again. A group named counts as the same word in both
  // texts where it has the same part in them: the one asked about, or the other one. Where it is
  // known what was masked, any mention counts as the same word, as it did for the verdict.
  function piecesOf(text, groups, side, masked) {
    const pieces = [];
    const addWords = (part) => {
      for (const [word] of part.matchAll(WORD)) pieces.push({ text: word, key: word.trim() && word });
    };
    const pattern = masked ? patternOf(masked, "gu") : patternOf(groups, "giu");
    let end = 0;
    for (const found of pattern ? text.matchAll(pattern) : []) {
      addWords(text.slice(end, found.index));
      const own = found[0].toLowerCase() === groups[side].toLowerCase();
      pieces.push({ text: found[0], group: masked ? "masked" : "group",
        key: masked ? "\u0000masked" : own ? "\u0000own" : "\u0000other" });
      end = found.index + found[0].length;
    }
    addWords(text.slice(end));
    return pieces;
  }

  const CELLS = 4_000_000;

  // Pairs [i, j] of equal words, rising in both: a longest common subsequence. Long texts are
  // first cut at words that occur once in both (patience), which is exact enough and quick.
  function matches(a, b) {
    const found = [];
    const work = [[0, a.length, 0, b.length]];
    while (work.length) {
      let [i, iEnd, j, jEnd] = work.pop();
      while (i < iEnd && j < jEnd && a[i] === b[j]) found.push([i++, j++]);
      while (i < iEnd && j < jEnd && a[iEnd - 1] === b[jEnd - 1]) found.push([--iEnd, --jEnd]);
      if (i === iEnd || j === jEnd) continue;
      if ((iEnd - i + 1) * (jEnd - j + 1) <= CELLS) {
        longest(a, b, i, iEnd, j, jEnd, found);
        continue;
      }
      const shared = anchors(a, b, i, iEnd, j, jEnd);
      if (!shared.length) continue;
      for (const [x, y] of shared) {
        found.push([x, y]);
        work.push([i, x, j, y]);
        [i, j] = [x + 1, y + 1];
      }
      work.push([i, iEnd, j, jEnd]);
    }
    return found.sort((one, other) => one[0] - other[0]);
  }

  function longest(a, b, i, iEnd, j, jEnd, found) {
    const width = jEnd - j + 1;
    const lengths = new Uint16Array((iEnd - i + 1) * width);
    for (let x = iEnd - i - 1; x >= 0; x--) {
      for (let y = jEnd - j - 1; y >= 0; y--) {
        lengths[x * width + y] = a[i + x] === b[j + y]
          ? lengths[(x + 1) * width + y + 1] + 1
          : Math.max(lengths[(x + 1) * width + y], lengths[x * width + y + 1]);
      }
    }
    for (let x = 0, y = 0; x < iEnd - i && y < jEnd - j;) {
      if (a[i + x] === b[j + y]) found.push([i + x++, j + y++]);
      else if (lengths[(x + 1) * width + y] >= lengths[x * width + y + 1]) x++;
      else y++;
    }
  }

  function anchors(a, b, i, iEnd, j, jEnd) {
    const once = (words, from, to) => {
      const places = new Map();
      for (let at = from; at < to; at++) places.set(words[at], places.has(words[at]) ? -1 : at);
      return places;
    };
    const inB = once(b, j, jEnd);
    const shared = [];
    for (const [word, at] of once(a, i, iEnd)) {
      const other = inB.get(word);
      if (at >= 0 && other !== undefined && other >= 0) shared.push([at, other]);
    }
    shared.sort((one, other) => one[0] - other[0]);
    return rising(shared);
  }

  // The longest run of pairs that rises in its second number too.
  function rising(pairs) {
    const tops = [];
    const before = new Array(pairs.length).fill(-1);
    pairs.forEach(([, place], at) => {
      let low = 0;
      let high = tops.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (pairs[tops[middle]][1] < place) low = middle + 1;
        else high = middle;
      }
      if (low) before[at] = tops[low - 1];
      tops[low] = at;
    });
    const run = [];
    for (let at = tops.length ? tops[tops.length - 1] : -1; at >= 0; at = before[at]) run.push(pairs[at]);
    return run.reverse();
  }

  // A word or two that happen to be equal between long differences only make them hard to read.
  function withoutCrumbs(found, lengthA, lengthB) {
    const runs = [];
    for (const [i, j] of found) {
      const run = runs[runs.length - 1];
      if (run && run.i + run.size === i && run.j + run.size === j) run.size++;
      else runs.push({ i, j, size: 1 });
    }
    const keep = runs.filter((run, at) => {
      if (run.size > 2) return true;
      const before = at ? runs[at - 1] : { i: 0, j: 0, size: 0 };
      const after = runs[at + 1] || { i: lengthA, j: lengthB };
      const gapBefore = Math.min(run.i - before.i - before.size, run.j - before.j - before.size);
      const gapAfter = Math.min(after.i - run.i - run.size, after.j - run.j - run.size);
      return gapBefore < 3 || gapAfter < 3;
    });
    return keep.flatMap(({ i, j, size }) => Array.from({ length: size }, (_, at) => [i + at, j + at]));
  }

  // For each text its pieces, each with `only`: this text alone has it here.
  function compare(texts, groups, masked) {
    const sides = texts.map((text, side) => piecesOf(text, groups, side, masked && masked[side]));
    const words = sides.map((pieces) => pieces.filter((piece) => piece.key));
    const keys = words.map((pieces) => pieces.map((piece) => piece.key));
    const found = withoutCrumbs(matches(keys[0], keys[1]), keys[0].length, keys[1].length);
    words.forEach((pieces, side) => {
      for (const piece of pieces) piece.only = true;
      for (const match of found) pieces[match[side]].only = false;
    });
    return sides;
  }

  // The pieces as nodes; white space between two marked words is marked with them.
  function* nodesOf(pieces) {
    let run = "";
    let style = "";
    for (let at = 0; at < pieces.length; at++) {
      const piece = pieces[at];
      const between = !piece.key && pieces[at - 1]?.only && pieces[at + 1]?.only;
      const marked = piece.only || between;
      const own = piece.group ? (marked ? "only " : "") + piece.group : marked ? "only" : "same";
      if (own !== style && run) yield styled(run, style);
      if (own !== style) [run, style] = ["", own];
      run += piece.text;
    }
    if (run) yield styled(run, style);
  }

  function styled(text, style) {
    if (style === "only") return make("mark", { textContent: text });
    if (style === "only group") return make("mark", { className: "group-named", textContent: text });
    if (style === "group") return make("b", { className: "group-named", textContent: text });
    if (style === "only masked") return make("mark", { className: "masked", textContent: text });
    if (style === "masked") return make("span", { className: "masked", textContent: text });
    return document.createTextNode(text);
  }

  // ---- one item, opened --------------------------------------------------------------------

  // As many digits as it takes not to look like the expected level where it is below it.
  function level(score, threshold) {
    if (score === null || score === undefined) return DASH;
    for (let digits = 3; digits < 12; digits++) {
      const text = score.toFixed(digits);
      if (score < threshold === Number(text) < threshold) return text;
    }
    return String(score);
  }

  function badge(verdict) {
    const symbol = make("span", { "aria-hidden": "true", textContent: SYMBOLS[verdict] || "" });
    return make("span", { className: `badge ${verdict}` }, symbol, ` ${verdict}`);
  }

  function track(score, threshold, verdict) {
    const share = (value) => `${100 * Math.min(1, Math.max(0, value))}%`;
    const amount = make("span", { className: "amount" });
    const mark = make("span", { className: "mark" });
    amount.style.width = share(score);
    mark.style.left = share(threshold);
    return make("span", { className: `track ${verdict}`, "aria-hidden": "true" }, amount, mark);
  }

  function facts(className, entries) {
    const list = make("dl", { className });
    for (const [name, ...content] of entries) {
      list.append(make("div", {}, make("dt", { textContent: name }), make("dd", {}, ...content)));
    }
    return list;
  }

  function detailsOf(result) {
    return result.oracle === "gap" ? poolOf(result) : itemOf(result);
  }

  function itemOf(result) {
    const details = document.createDocumentFragment();
    const measured = make("span", { className: "number", textContent: level(result.score, result.threshold) });
    if (result.score !== null) measured.title = String(result.score);
    const levels = [
      ["Expected fairness level", make("span", { className: "number", textContent: String(result.threshold) }),
        make("span", { className: "muted", textContent: ` ${result.metric}, ${result.space} space, ${result.oracle} oracle` })],
      ["Actual fairness level", measured,
        result.score === null ? make("span", { className: "muted", textContent: " none, which is not zero" }) : null],
    ];
    if (result.control) {
      levels.push(["Control", make("span", { className: "number", textContent: result.control.scores.map((score) => level(score, result.threshold)).join(", ") }),
        make("span", { className: "muted", textContent: ` the same prompt asked twice: ${result.control.failed} of ${result.control.judged} below the level` })]);
    }
    details.append(make("p", { className: "reason", dir: "auto", textContent: result.reason }), facts("levels", levels));
    const pairs = make("div", { className: "pairs" });
    details.append(pairs, sourcesOf(result));
    addRest(pairs, result.pairs, 0, FIRST_PAIRS, "more prompt pairs", (pair, at) => pairOf(pair, at, result));
    return details;
  }

  // Puts entries in place from `from` on, and a button for those that are left.
  function addRest(place, entries, from, until, what, shown) {
    entries.slice(from, until).forEach((entry, at) => place.append(shown(entry, from + at)));
    const left = entries.length - until;
    if (left <= 0) return;
    const more = make("button", { type: "button", className: "more", textContent: `Show ${left.toLocaleString("en")} ${what}` });
    more.addEventListener("click", () => {
      more.remove();
      const before = place.childElementCount;
      addRest(place, entries, until, entries.length, what, shown);
      const first = place.children[before];
      first.tabIndex = -1;
      first.focus({ preventScroll: true });
    });
    place.append(more);
  }

  function pairOf(pair, number, result) {
    const section = make("section", { className: "pair" });
    if (result.pairs.length > 1) {
      section.append(make("h4", {}, `Prompt pair ${number + 1} of ${result.pairs.length} `, pair.verdict && badge(pair.verdict),
        ` ${level(pair.score, result.threshold)}`));
    }
    const unsaid = pair.differences.filter((sentence) => !result.reason.includes(sentence));
    if (unsaid.length) {
      section.append(make("ul", { className: "differences" },
        ...unsaid.map((sentence) => make("li", { dir: "auto", textContent: sentence }))));
    }
    const prompts = compare(pair.prompts, pair.groups);
    const masked = maskedOf(pair);
    const answered = pair.answers.every((answer) => answer !== null);
    const answers = answered ? compare(pair.answers, pair.groups, masked) : [null, null];
    const sides = make("div", { className: "sides" },
      ...[0, 1].map((side) => sideOf(pair, side, prompts[side], answers[side])));
    section.append(keyOf(pair, sides, answered, true), sides);
    return section;
  }

  // What was masked in either answer; null where nothing is known of it.
  const maskedOf = (pair) => pair.masked.some((mentions) => mentions.length) ? pair.masked : null;

  function keyOf(pair, sides, answered, marked) {
    const key = make("p", { className: "key" },
      make("span", {}, "Topic ", make("bdi", { textContent: pair.topic })),
      make("span", {}, "Triple ", make("span", { className: "code", textContent: pair.triple })),
      make("span", {}, make("b", { className: "group-named", textContent: "Bold" }), " is the group named"));
    if (maskedOf(pair)) key.append(make("span", {}, make("span", { className: "masked", textContent: "Boxed" }), " was masked before the comparison"));
    if (!answered) return key;
    const marks = make("input", { type: "checkbox", checked: marked });
    marks.addEventListener("change", () => sides.classList.toggle("unmarked", !marks.checked));
    sides.classList.toggle("unmarked", !marked);
    key.append(make("label", {}, marks, make("span", {}, "Mark ", make("mark", { textContent: "what only one side has" }))));
    return key;
  }

  const said = (kind, title, ...content) =>
    make("div", { className: `said ${kind}` }, make("h5", { textContent: title }), ...content);
  const paragraph = (pieces) => make("p", { dir: "auto" }, ...nodesOf(pieces));

  function replyOf(pair, side, pieces) {
    const alone = pair.answers[side];
    if (alone === null) {
      return make("div", { className: "missing" }, make("strong", { textContent: "No answer" }),
        make("span", { dir: "auto", textContent: pair.failures[side] || "the reason was not recorded" }));
    }
    if (alone === "") return make("p", { className: "muted", textContent: "(the answer is an empty text)" });
    const masked = maskedOf(pair);
    return paragraph(pieces || piecesOf(alone, pair.groups, side, masked && masked[side]));
  }

  const mostlyMasked = (pair, side) => pair.mostly_masked[side]
    ? make("p", { className: "mostly-masked", textContent: "Mostly masked: so many words name the groups that little is left to compare." }) : null;

  const journalKey = (pair, side) =>
    make("p", { className: "journal-key" }, "Journal key ", make("span", { className: "code", textContent: pair.keys[side] }));

  const groupHeader = (pair, side) => make("header", {}, make("bdi", { textContent: pair.groups[side] }),
    make("small", { textContent: side ? "advantaged group" : "disadvantaged group" }));

  function sideOf(pair, side, prompt, answer) {
    return make("section", { className: "side" }, groupHeader(pair, side), said("prompt", "Prompt", paragraph(prompt)),
      said("answer", "Answer", replyOf(pair, side, answer), mostlyMasked(pair, side)), journalKey(pair, side));
  }

  // ---- a pool, opened ------------------------------------------------------------------------

  function poolOf(result) {
    const details = document.createDocumentFragment();
    details.append(make("p", { className: "reason", dir: "auto", textContent: result.reason }));
    const levels = [["Pool", make("span", { className: "number", textContent: `${result.n.toLocaleString("en")} prompt pairs, ${result.n_answers.toLocaleString("en")} answers` }),
      make("span", { className: "muted", textContent: ` ${result.metric}, ${result.oracle} oracle` })]];
    if (result.told.control) levels.push(["Control", make("span", { className: result.control.failed ? "failed" : "", textContent: result.told.control })]);
    details.append(facts("levels", levels));
    if (result.findings.length) details.append(questionsOf(result));
    const phrases = (result.findings.find((finding) => finding.phrases.length) || { phrases: [] }).phrases;
    if (phrases.length) details.append(phrasesOf(result, phrases));
    const byPrompts = new Map();
    for (const pair of result.pairs) {
      const key = JSON.stringify(pair.prompts);
      if (!byPrompts.has(key)) byPrompts.set(key, []);
      byPrompts.get(key).push(pair);
    }
    const asked = [...byPrompts.values()];
    const pairs = make("div", { className: "pairs" });
    details.append(make("h4", { textContent: "Prompt pairs and answers" }), pairs, sourcesOf(result));
    addRest(pairs, asked, 0, FIRST_PAIRS, "more prompt pairs", (repetitions, at) => repetitionsOf(repetitions, at, asked.length));
    return details;
  }

  function questionsOf(result) {
    const titles = ["disadvantaged", "advantaged", "difference", "95 % interval and margin", "p", "p in the run", "verdict"];
    const head = make("tr", {}, ...["question", ...titles].map((title) => make("th", { scope: "col", textContent: title })));
    const rows = result.findings.map((finding, at) => {
      const told = result.told.findings[at];
      const levelOf = (side) => [told.levels[side], finding.similarity && finding.levels[side] !== null
        ? make("small", { textContent: side ? " across" : " within" }) : null];
      const cells = [levelOf(0), levelOf(1), [told.difference],
        [intervalPlot(finding, finding.verdict), make("span", { className: "ends", textContent: `${told.interval}, margin ${told.margin}` })],
        [told.p], [told.p_adjusted], [badge(finding.verdict), ` ${told.verdict}`]];
      const row = make("tr", {}, make("th", { scope: "row", title: finding.metric, textContent: finding.question }));
      cells.forEach((content, place) => {
        const cell = make("td", {}, ...content);
        if (place === 3) cell.className = "spread";
        else if (place === 6) cell.className = "decided";
        else cell.dataset.title = finding.similarity && place < 2 ? ["within groups", "across groups"][place] : titles[place];
        row.append(cell);
      });
      return row;
    });
    const table = make("table", { className: "questions" }, make("thead", {}, head), make("tbody", {}, ...rows));
    return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Questions asked of this pool" }, table);
  }

  // Zero in the middle; the band is what counts as fair, the line the interval of the difference.
  function intervalPlot(finding, verdict) {
    const plot = make("span", { className: `interval ${verdict}`, "aria-hidden": "true" });
    if (finding.difference === null) return plot;
    const [low, high] = finding.interval || [finding.difference, finding.difference];
    const reach = 1.15 * Math.max(Math.abs(low), Math.abs(high), finding.margin) || 1;
    const at = (value) => `${50 + 50 * value / reach}%`;
    const part = (className, from, to) => {
      const span = make("span", { className });
      span.style.left = at(from);
      if (to !== undefined) span.style.width = `${50 * (to - from) / reach}%`;
      return span;
    };
    plot.append(part("band", -finding.margin, finding.margin), part("zero", 0), part("line", low, high), part("point", finding.difference));
    return plot;
  }

  // A phrase was found in texts in which the groups are masked: the words of one sentence.
  function phrasePattern(phrase, mentions) {
    const any = alternatives(mentions.slice());
    const placeholder = any ? `(?:an?\\s+)?(?:${any})(?:[\\s-]*(?:${any}))*` : "(?!)";
    const words = phrase.split(" ").map((word) => word.startsWith("___") ? placeholder + escaped(word.slice(3)) : escaped(word));
    const letter = "[\\p{L}\\p{M}\\p{N}_]";
    return new RegExp(`(?<!${letter})(?<!${letter}['’-])${words.join("[^\\p{L}\\p{M}\\p{N}_.!?\\n;:]+")}(?!${letter}|['’-]${letter})`, "giu");
  }

  function phrasesOf(result, phrases) {
    const place = make("div", { className: "held", id: `held-${result.nodeid}` });
    const buttons = phrases.map((phrase, number) => {
      const percent = (value) => `${(100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0)} %`;
      const button = make("button", { type: "button", className: "phrase", "aria-pressed": "false", "aria-controls": place.id },
        make("q", { dir: "auto", textContent: phrase.text }),
        make("span", { className: "shares", textContent: `${percent(phrase.shares[0])} against ${percent(phrase.shares[1])}` }),
        phrase.found ? null : make("small", { textContent: "alone, it may be chance" }));
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") === "true";
        for (const other of buttons) other.setAttribute("aria-pressed", "false");
        place.replaceChildren();
        if (pressed) return;
        button.setAttribute("aria-pressed", "true");
        showHeld(place, result, phrase, result.told.holders[number]);
      });
      return button;
    });
    return make("section", { className: "phrases" },
      make("h4", { textContent: "Phrases that stand in answers about one group more than about the other" }),
      make("p", { className: "note", textContent: "Shares of the answers about the disadvantaged and about the advantaged group that do not decline; ___ stands for a group. Choose a phrase to read the answers that hold it." }),
      make("ul", {}, ...buttons.map((button) => make("li", {}, button))), place);
  }

  function showHeld(place, result, phrase, holders) {
    const found = holders.map(([at, side]) => ({ pair: result.pairs[at], side }));
    const more = phrase.shares[0] < phrase.shares[1] ? 1 : 0;
    found.sort((one, other) => Math.abs(one.side - more) - Math.abs(other.side - more));
    const counts = [0, 1].map((side) => found.filter((one) => one.side === side).length);
    place.append(make("p", { role: "status", textContent:
      `${counts[0]} answers about the disadvantaged group, ${counts[1]} about the advantaged group` }));
    addRest(place, found, 0, FIRST_HELD, "more answers", ({ pair, side }) => make("article", {},
      make("header", {}, make("bdi", { textContent: pair.groups[side] }),
        make("small", { textContent: `${side ? "advantaged" : "disadvantaged"} group, ${pair.topic}, repetition ${pair.repetition + 1}` })),
      highlighted(pair, side, phrase)));
  }

  function highlighted(pair, side, phrase) {
    const text = pair.answers[side];
    const shown = make("p", { dir: "auto" });
    const plain = (part) => shown.append(...nodesOf(piecesOf(part, pair.groups, side, pair.masked[side])));
    let end = 0;
    for (const found of text.matchAll(phrasePattern(phrase.text, pair.masked[side]))) {
      plain(text.slice(end, found.index));
      shown.append(make("mark", { className: "phrase-found", textContent: found[0] }));
      end = found.index + found[0].length;
    }
    plain(text.slice(end));
    return shown;
  }

  // A prompt pair of a pool: both prompts once, then what came of each time they were asked.
  function repetitionsOf(repetitions, number, count) {
    const first = repetitions[0];
    const section = make("section", { className: "pair" }, make("h4", {}, `Prompt pair ${number + 1} of ${count}`));
    const prompts = compare(first.prompts, first.groups);
    const sides = make("div", { className: "sides repetitions" });
    const texts = [0, 1].map((side) => [groupHeader(first, side), said("prompt", "Prompt", paragraph(prompts[side]))]);
    for (const pair of repetitions) {
      const answered = pair.answers.every((answer) => answer !== null);
      const answers = answered ? compare(pair.answers, pair.groups, maskedOf(pair) || pair.masked) : [null, null];
      const again = repetitions.length > 1 ? ` ${pair.repetition + 1}` : "";
      const alike = pair.score === null ? "" : `, similarity ${pair.score.toFixed(2)}`;
      texts.forEach((parts, side) => parts.push(said("answer", `Answer${again}${alike}`,
        replyOf(pair, side, answers[side]), mostlyMasked(pair, side), journalKey(pair, side))));
    }
    sides.append(...texts.map((parts) => make("section", { className: "side" }, ...parts)));
    for (const side of sides.children) side.style.gridRow = `span ${texts[0].length}`;
    section.append(keyOf(repetitions.find(maskedOf) || first, sides, true, false), sides);
    return section;
  }

  function sourcesOf(result) {
    const nodeid = make("span", { className: "code", textContent: result.nodeid });
    const copy = make("button", { type: "button", textContent: "Copy" });
    copy.addEventListener("click", () => copyText(result.nodeid, nodeid, copy));
    const entries = [
      ["Node id", nodeid, copy],
      ["Test case", result.case, make("span", { className: "muted", textContent: ` ${result.file}:${result.line}` })],
    ];
    if (result.objective) entries.push(["Objective", make("span", { dir: "auto", textContent: result.objective })]);
    return facts("sources", entries);
  }

  async function copyText(text, shown, button) {
    let done = "Copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(shown);
      if (!document.execCommand("copy")) done = "Selected: press Ctrl+C";
    }
    button.textContent = done;
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }

  // ---- the list ----------------------------------------------------------------------------

  function browse({ names, columns, starts: known }) {
    starts = known;
    const count = columns.nodeid.length;
    const open = new Set();
    let order = [];
    let page = 0;
    let search = { text: "", found: null };

    const nameOf = (field, item) => names[field][columns[field][item]];
    const varying = ["bias_type", "intent", "model", "case"].filter((field) => names[field].length > 1);
    const told = varying.length ? varying : ["bias_type"];

    function fillFilters() {
      for (const field of FILTERS) {
        const totals = new Array(names[field].length).fill(0);
        for (const code of columns[field]) totals[code]++;
        const codes = [...totals.keys()].sort((one, other) => names[field][one] < names[field][other] ? -1 : 1);
        byId(`filter-${field}`).append(make("option", { value: "", textContent: "all" }),
          ...codes.map((code) => make("option", { value: String(code), textContent: `${names[field][code]} (${totals[code].toLocaleString("en")})` })));
        byId(`filter-${field}`).parentElement.hidden = names[field].length < 2;
      }
    }

    function selected() {
      const chosen = FILTERS.map((field) => [columns[field], byId(`filter-${field}`).value])
        .filter(([, value]) => value !== "")
        .map(([column, value]) => [column, Number(value)]);
      const items = [];
      for (let item = 0; item < count; item++) {
        if (search.found && !search.found[item]) continue;
        if (chosen.every(([column, value]) => column[item] === value)) items.push(item);
      }
      return sorted(items);
    }

    // Items without a score stand last, whichever way the others are sorted.
    function sorted(items) {
      const [column, way] = { lowest: ["score", 1], highest: ["score", -1], surest: ["p", 1] }[byId("order").value] || [];
      if (!way) return items;
      const of = columns[column];
      return items.sort((one, other) =>
        (of[one] === null) - (of[other] === null) || way * (of[one] - of[other]) || one - other);
    }

    function refresh(toPage = 0) {
      const before = order.join();
      order = selected();
      if (toPage !== page || before !== order.join() || !byId("list").childElementCount) show(toPage);
      say();
    }

    function say() {
      const all = count.toLocaleString("en");
      byId("found").textContent = !order.length && count ? "No item matches."
        : order.length === count ? `${all} items` : `${order.length.toLocaleString("en")} of ${all} items`;
    }

    function show(number) {
      const pages = Math.max(1, Math.ceil(order.length / PAGE_SIZE));
      page = Math.min(Math.max(0, number), pages - 1);
      const items = order.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
      byId("list").replaceChildren(...items.map(rowOf));
      byId("page").textContent = `Page ${page + 1} of ${pages.toLocaleString("en")}`;
      byId("pager").hidden = pages < 2;
      for (const button of byId("pager").querySelectorAll("button")) {
        button.disabled = ["first", "previous"].includes(button.dataset.page) ? page === 0 : page === pages - 1;
      }
    }

    const isPool = (item) => nameOf("expected", item)[0] === "gap";

    function subjectOf(item) {
      if (isPool(item)) {
        return make("span", { className: "groups" }, make("bdi", { textContent: nameOf("bias_type", item) }),
          make("span", { className: "topic", textContent: `pool of ${columns.pairs[item]} prompt pairs` }));
      }
      const [first, second] = nameOf("groups", item);
      const more = columns.pairs[item] > 1 ? ` and ${columns.pairs[item] - 1} more pairs` : "";
      return make("span", { className: "groups" }, make("bdi", { textContent: first }), " / ",
        make("bdi", { textContent: second }), more, make("span", { className: "topic", dir: "auto", textContent: nameOf("topic", item) }));
    }

    function measuredOf(item, verdict) {
      const finding = columns.finding[item];
      if (isPool(item)) {
        return make("span", { className: "measured" }, finding ? intervalPlot(finding, verdict) : make("span"),
          make("span", { textContent: finding ? finding.told : DASH, title: finding ? `difference in ${finding.question}` : "nothing to compare, which is not zero" },
            finding ? make("small", { textContent: ` ${finding.question}` }) : null));
      }
      const [, , threshold] = nameOf("expected", item);
      const score = columns.score[item];
      return make("span", { className: "measured" },
        score === null ? make("span") : track(score, threshold, verdict),
        make("span", { textContent: level(score, threshold), title: score === null ? "no score, which is not zero" : "actual fairness level" }));
    }

    function rowOf(item) {
      const verdict = nameOf("verdict", item);
      const groups = subjectOf(item);
      const of = make("span", { className: "of" });
      const about = told.filter((field) => field !== "bias_type" || !isPool(item));
      about.forEach((field, at) => of.append(make("span", { textContent: nameOf(field, item) + (at + 1 < about.length ? "\u00a0·" : "") }), " "));
      const measured = measuredOf(item, verdict);
      const button = make("button", { type: "button", className: "row", "aria-expanded": "false", "aria-controls": `item-${item}` },
        badge(verdict), groups, of, measured);
      const details = make("div", { className: "details", id: `item-${item}`, hidden: true });
      button.addEventListener("click", () => toggle(item, button, details));
      const row = make("li", { className: "item" }, make("h3", {}, button), details);
      row.dataset.verdict = verdict;
      row.dataset.item = item;
      if (open.has(item)) unfold(item, button, details);
      return row;
    }

    function toggle(item, button, details) {
      if (!details.hidden) {
        open.delete(item);
        details.hidden = true;
        button.setAttribute("aria-expanded", "false");
        return;
      }
      open.add(item);
      history.replaceState(null, "", `#${encodeURI(columns.nodeid[item])}`);
      return unfold(item, button, details);
    }

    async function unfold(item, button, details) {
      button.setAttribute("aria-expanded", "true");
      details.hidden = false;
      if (details.childElementCount) return;
      details.setAttribute("aria-busy", "true");
      try {
        const content = detailsOf(await resultOf(item));
        if (!details.childElementCount) details.append(content);
      } catch (error) {
        details.append(make("p", { className: "trouble", textContent: `This item cannot be shown: ${error}. It stands in results.jsonl.` }));
      }
      details.removeAttribute("aria-busy");
    }

    // ---- search: names at once, then prompts, answers and reasons, chunk by chunk ----

    let haystacks = null;

    function searchNames(text) {
      haystacks ??= columns.nodeid.map((nodeid, item) =>
        `${nodeid}\n${nameOf("groups", item).join(" / ")}\n${nameOf("topic", item)}`.toLowerCase());
      return Uint8Array.from(haystacks, (haystack) => haystack.includes(text) ? 1 : 0);
    }

    const heldIn = (result, text) => [result.reason, ...(result.told ? result.told.findings.map((one) => one.sentence) : []), ...result.pairs.flatMap((pair) =>
      [...pair.groups, pair.groups.join(" / "), pair.topic, ...pair.prompts, ...pair.answers, ...pair.failures, ...pair.differences])]
      .some((part) => part !== null && part.toLowerCase().includes(text));

    async function searchFor(typed) {
      const text = typed.trim().toLowerCase();
      if (text === search.text) return;
      const mine = search = { text, found: text ? searchNames(text) : null };
      byId("searching").textContent = "";
      refresh();
      if (!text) return;
      const chunks = starts.length;
      for (let number = 0; number < chunks; number++) {
        const results = await chunk(number);
        if (mine !== search) return;
        results.forEach((result, at) => {
          const item = starts[number] + at;
          if (!mine.found[item] && heldIn(result, text)) mine.found[item] = 1;
        });
        if (number + 1 < chunks) byId("searching").textContent = `searching prompts and answers: ${Math.floor(100 * (number + 1) / chunks)} %`;
      }
      byId("searching").textContent = "";
      refresh(page);
    }

    // ---- links into the list ----

    function clear() {
      for (const field of FILTERS) byId(`filter-${field}`).value = "";
      byId("search").value = "";
      byId("order").value = "run";
      search = { text: "", found: null };
      byId("searching").textContent = "";
    }

    function followLink(event) {
      const link = event.target.closest("a[data-field], a[data-search]");
      if (!link) return;
      clear();
      const { field, choice, model, search: text } = link.dataset;
      const choose = (name, value) => {
        const code = names[name] ? names[name].indexOf(value) : -1;
        const filter = byId(`filter-${name}`);
        if (filter && code >= 0) filter.value = String(code);
      };
      if (field && field !== "all") choose(field, choice);
      if (model !== undefined) choose("model", model);
      refresh();
      if (text) {
        byId("search").value = text;
        searchFor(text);
      }
    }

    function fromAddress() {
      const raw = location.hash.slice(1);
      if (!raw || byId(raw)) return;
      let decoded = raw;
      try { decoded = decodeURIComponent(raw); } catch { /* not encoded: taken as it is */ }
      const item = Math.max(columns.nodeid.indexOf(decoded), columns.nodeid.indexOf(raw));
      if (item < 0) return;
      clear();
      order = selected();
      open.add(item);
      show(Math.floor(order.indexOf(item) / PAGE_SIZE));
      say();
      const row = byId("list").querySelector(`[data-item="${item}"]`);
      row.scrollIntoView();
      row.querySelector("button").focus({ preventScroll: true });
    }

    let typing = 0;
    byId("search").addEventListener("input", (event) => {
      clearTimeout(typing);
      typing = setTimeout(() => searchFor(event.target.value), 200);
    });
    byId("filters").addEventListener("submit", (event) => {
      event.preventDefault();
      searchFor(byId("search").value);
    });
    byId("filters").addEventListener("change", (event) => {
      if (event.target.matches("select")) refresh();
    });
    byId("filters").addEventListener("reset", (event) => {
      event.preventDefault();
      clear();
      refresh();
    });
    byId("pager").addEventListener("click", (event) => {
      const to = { first: 0, previous: page - 1, next: page + 1, last: Infinity }[event.target.dataset.page];
      if (to === undefined) return;
      show(to);
      byId("items").scrollIntoView();
      byId("items").focus({ preventScroll: true });
    });
    document.addEventListener("click", followLink);
    addEventListener("hashchange", fromAddress);

    fillFilters();
    clear();
    byId("browser").hidden = false;
    refresh();
    fromAddress();
  }

  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll(".environment details")) folded.open = true;
  });

  unpack("index").then(browse, (error) => {
    byId("items").append(make("p", { className: "trouble",
      textContent: `The items cannot be shown in this browser: ${error}. They stand in results.jsonl.` }));
  });
})();
