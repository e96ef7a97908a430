// Reasons for the fingerprints of two texts, and the differences of their characters.

import { count, el, number, percent } from "./dom.js";

const BITS = 64;
const ALL = [...Array(BITS).keys()].map((n) => BITS - 1 - n);
const TERMS_SHOWN = 8;
const HEAVIEST_SHOWN = 16;
/** Rows of the table of bits shown at once; for texts far apart the table has thirty. */
const BITS_SHOWN = 8;
/** Characters shown at either end of a long stretch. */
const CONTEXT = 120;
/** Stretches shown at once. */
const STRETCHES_SHOWN = 600;

const bitsOf = (fingerprint) => {
  const value = BigInt(`0x${fingerprint}`);
  return ALL.map((bit) => Number((value >> BigInt(bit)) & 1n));
};

/** The bits in which two fingerprints differ, the first (63) first. */
export function differing(a, b) {
  const [ofA, ofB] = [bitsOf(a), bitsOf(b)];
  return ALL.filter((_, n) => ofA[n] !== ofB[n]);
}

/** The scheme's blocks: bits beside each other that are in the same tables. */
export function blocks(tables) {
  const found = [];
  let last = null;
  for (const bit of ALL) {
    const tablesOf = tables.map((mask) => (BigInt(`0x${mask}`) >> BigInt(bit)) & 1n).join("");
    if (tablesOf !== last) found.push([]);
    last = tablesOf;
    found.at(-1).push(bit);
  }
  return found;
}

const blockOf = (all, bit) => all.findIndex((block) => block.includes(bit)) + 1;

/** Returns the number of the scheme's tables in which two fingerprints meet. */
function meetings(tables, bits) {
  const apart = bits.reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n);
  return tables.filter((mask) => (BigInt(`0x${mask}`) & apart) === 0n).length;
}

export const distanceWords = (distance) =>
  distance === 0 ? "All 64 bits agree" : `${distance} of 64 bits ${distance === 1 ? "differs" : "differ"}`;

/** Returns all bits in a line, in the blocks of the scheme, with the differing bits marked. */
export function strip(tables, bits) {
  const cells = blocks(tables).map((block) =>
    el("span", {}, block.map((bit) => el("i", { class: bits.includes(bit) ? "differs" : undefined }))));
  const label = `${distanceWords(bits.length)}${bits.length ? `: ${bits.join(", ")}` : ""}`;
  return el("span", { class: "strip", role: "img", "aria-label": label, title: label }, cells);
}

/** Returns both fingerprints, digit above digit. Screen readers have the table of bits instead. */
function digits(info, a, b, bits) {
  const [ofA, ofB] = [bitsOf(a), bitsOf(b)];
  const column = (bit) => {
    const n = BITS - 1 - bit;
    return el("span", { class: bits.includes(bit) ? "bit differs" : "bit" }, el("span", {}, String(ofA[n])), el("span", {}, String(ofB[n])));
  };
  const block = (all) => el("span", { class: "block" },
    el("span", { class: "range" }, all.length > 1 ? `${all[0]}–${all.at(-1)}` : `${all[0]}`), el("span", { class: "columns" }, all.map(column)));
  return el("div", { class: "digits", "aria-hidden": "true" }, blocks(info.tables).map(block));
}

const termList = (terms) => {
  if (terms.length === 0) return el("span", { class: "quiet" }, "none");
  const more = terms.length - TERMS_SHOWN;
  return el("span", { class: "terms" },
    terms.slice(0, TERMS_SHOWN).map((term) => el("bdi", { class: "term" }, term)),
    more > 0 ? el("span", { class: "quiet" }, `and ${number(more)} more`) : null);
};

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const cell = (label, ...content) => el("td", { "data-label": capital(label) }, content);
const decided = (value, margin) => (margin === null ? String(value) : `${value} by ${percent(margin)}`);

/** Returns the terms that push a bit to either side, by an answer of /v1/compare on two texts. */
function fromBoth(compared) {
  const byDifference = [...compared.terms].sort((s, t) => Math.abs(t.weight_a - t.weight_b) - Math.abs(s.weight_a - s.weight_b));
  const pushing = (side, bit) => byDifference.filter((term) => term[side].includes(bit)).map((term) => term.term);
  return (bit) => [pushing("towards_b", bit), pushing("towards_a", bit)];
}

/** Returns a text's terms that vote for its bit, and against it, by an answer of /v1/analyze. */
function fromOne(analyzed) {
  const voting = (bit, value) => analyzed.terms.filter((term) => Number((BigInt(`0x${term.hash}`) >> BigInt(bit)) & 1n) === value).map((term) => term.term);
  return (bit, value) => [voting(bit, value), voting(bit, 1 - value)];
}

/** The bits that differ, how clearly each side decided them, and the terms behind that. */
function bitsPart(info, compared, analyzed, [nameA, nameB]) {
  const bits = compared.bits.map(({ bit }) => bit);
  const all = blocks(info.tables);
  const met = meetings(info.tables, bits);
  const where = met > 0 ? `They meet in ${met} of the ${count(info.tables.length, "table")} of ${info.scheme}.` : `They meet in none of the ${info.tables.length} tables of ${info.scheme}.`;
  const part = el("section", { class: "bits" }, el("h3", {}, "Bits"),
    el("p", {}, `${distanceWords(bits.length)}. ${where}`), digits(info, compared.a.fingerprint, compared.b.fingerprint, bits),
    el("p", { class: "quiet small" }, "Above ", el("code", {}, compared.a.fingerprint), `, ${nameA}; below `, el("code", {}, compared.b.fingerprint), `, ${nameB}.`));
  if (bits.length === 0) return part;
  const heads = analyzed
    ? ["Terms for it", "Terms against it"]
    : [`Terms that turn it to ${nameB}`, `Terms that hold it at ${nameA}`];
  const termsOf = analyzed ? fromOne(analyzed) : fromBoth(compared);
  const rows = compared.bits.map(({ bit, value_a: value, margin_a: marginA, margin_b: marginB }) => {
    const [first, second] = termsOf(bit, value);
    return el("tr", {}, el("th", { scope: "row" }, String(bit), el("span", { class: "quiet small" }, ` block ${blockOf(all, bit)}`)),
      cell(nameA, decided(value, marginA)), cell(nameB, decided(1 - value, marginB)),
      cell(heads[0], termList(first)), cell(heads[1], termList(second)));
  });
  const body = el("tbody", {}, rows.slice(0, BITS_SHOWN));
  const columns = ["Bit", capital(nameA), capital(nameB), ...heads].map((head) => el("th", { scope: "col" }, head));
  part.append(el("table", { class: "bit-table" }, el("thead", {}, el("tr", {}, columns)), body));
  if (rows.length > BITS_SHOWN) {
    const more = el("button", { type: "button", class: "plain", onclick: () => {
      body.append(...rows.slice(BITS_SHOWN));
      more.remove();
      rows[BITS_SHOWN].tabIndex = -1;
      rows[BITS_SHOWN].focus();
    } }, `Show the other ${count(rows.length - BITS_SHOWN, "bit")}`);
    part.append(el("p", {}, more));
  }
  const said = analyzed ? `Of the terms, only those of ${nameA} are known. ` : "";
  part.append(el("p", { class: "quiet small" }, `${said}A margin is the part of all weight by which a side decided the bit: one of a few percent is turned by a word or two.`));
  return part;
}

/** The terms that weigh most. */
function termsPart(terms, [nameA, nameB]) {
  const most = Math.max(1, ...terms.map((term) => Math.max(term.weight_a, term.weight_b ?? 0)));
  const relative = (weight) => (weight === 0 ? "–" : (100 * weight / most).toFixed(0));
  const hasBoth = terms.some((term) => term.weight_b !== undefined);
  const items = terms.slice(0, HEAVIEST_SHOWN).map((term) => {
    const weights = hasBoth && term.weight_a !== term.weight_b ? `${relative(term.weight_a)} → ${relative(term.weight_b)}` : relative(term.weight_a);
    return el("li", { class: weights.includes("→") ? "unlike" : undefined }, el("bdi", { class: "term" }, term.term), " ", weights);
  });
  const unlike = hasBoth ? ` Where it differs, that in ${nameA} → that in ${nameB}; – where a term is not among those that decide.` : "";
  return el("section", {}, el("h3", {}, "Heaviest terms"),
    el("p", { class: "quiet small" }, `With their weights, of which the greatest is 100.${unlike}`),
    el("ul", { class: "weights" }, items));
}

/** Returns the details: the simhashes' bits, and the heaviest terms; null without simhashes. */
export function whyPart(info, compared, analyzed, terms, names) {
  // The first side is a text, so it has terms if it has a simhash.
  if (compared.a.n_terms === null || compared.bits.length !== compared.distance) return null;
  const toggle = el("summary", {}, "Why: bits and terms ", el("span", { class: "quiet" }, distanceWords(compared.distance)));
  return el("details", { class: "why" }, toggle, bitsPart(info, compared, analyzed, names), termsPart(terms, names));
}

/** Cuts between characters, not inside of one. */
const boundary = (text, at) => (/[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at);

function folded(text, kind) {
  if (text.length <= 3 * CONTEXT) return [text];
  const [from, to] = [boundary(text, CONTEXT), boundary(text, text.length - CONTEXT)];
  const what = { both: "alike", a: "cut", b: "added" }[kind];
  const button = el("button", { type: "button", class: "fold", onclick: () => button.replaceWith(text.slice(from, to)) }, `… ${count(to - from, "character")} ${what} …`);
  return [text.slice(0, from), button, text.slice(to)];
}

const TAGS = { a: "del", b: "ins", both: "span" };

/** Returns both texts in one, with the differences marked. */
export function differencesPart(stretches, [nameA, nameB]) {
  const length = (side) => stretches.filter((stretch) => stretch.side === side).reduce((sum, { text }) => sum + [...text].length, 0);
  const places = stretches.filter(({ side }, n) => side !== "both" && (n === 0 || stretches[n - 1].side === "both")).length;
  const summary = places === 0
    ? "Letter for letter the same."
    : `${count(places, "place differs", "places differ")}: ${count(length("a"), "character")} only in ${nameA}, ${count(length("b"), "character")} only in ${nameB}.`;
  const texts = el("div", { class: "texts", dir: "auto" });
  const more = el("button", { type: "button", class: "plain" });
  let n = 0;
  const show = () => {
    const next = stretches.slice(n, n + STRETCHES_SHOWN);
    n += next.length;
    texts.append(...next.map(({ side, text }) => el(TAGS[side], {}, folded(text, side))));
    more.hidden = n >= stretches.length;
    more.textContent = `Show more of the texts (${number(stretches.length - n)} stretches are left)`;
  };
  more.addEventListener("click", show);
  show();
  const key = places === 0 ? null : el("p", { class: "quiet small" }, el("del", {}, `only in ${nameA}`), " ", el("ins", {}, `only in ${nameB}`),
    " What is compared has no case, width or punctuation; the marks do.");
  return el("section", {}, el("h3", {}, "Differences"), el("p", {}, summary), key, texts, more);
}
