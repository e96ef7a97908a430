// Reasons: by what a search finds one text by the other, and why their fingerprints differ.

import { code, el } from "./dom.js";
import { capital, percent, t } from "./words.js";

const BITS = 64;
const ALL = [...Array(BITS).keys()].map((n) => BITS - 1 - n);
const TERMS_SHOWN = 8;
const HEAVIEST_SHOWN = 16;
/** Rows of the table of bits shown at once; for texts far apart the table has thirty. */
const BITS_SHOWN = 8;
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
  distance === 0 ? t("allAgree") : t("bitsDiffer", distance);

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
  if (terms.length === 0) return el("span", { class: "quiet" }, t("nothing"));
  const more = terms.length - TERMS_SHOWN;
  return el("span", { class: "terms" },
    terms.slice(0, TERMS_SHOWN).map((term) => el("bdi", { class: "term" }, term)),
    more > 0 ? el("span", { class: "quiet" }, t("moreTerms", more)) : null);
};

const cell = (label, ...content) => el("td", { "data-label": capital(label) }, content);
const decided = (value, margin) => (margin === null ? String(value) : t("decidedBy", value, percent(margin)));

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
  const where = t("tablesAgree", met, info.tables.length, info.scheme);
  const part = el("section", { class: "bits" }, el("h3", {}, t("bitsHead")),
    el("p", {}, distanceWords(bits.length), t("stop"), where), digits(info, compared.a.fingerprint, compared.b.fingerprint, bits),
    el("p", { class: "quiet small" }, t("above"), code(compared.a.fingerprint), t("aboveBelow", nameA), t("below"), code(compared.b.fingerprint), t("aboveBelow", nameB)));
  if (bits.length === 0) return part;
  const heads = analyzed ? [t("termsFor"), t("termsAgainst")] : compared.terms ? [t("turnTo", nameB), t("holdAt", nameA)] : [];
  const termsOf = analyzed ? fromOne(analyzed) : compared.terms ? fromBoth(compared) : () => [];
  const rows = compared.bits.map(({ bit, value_a: value, margin_a: marginA, margin_b: marginB }) => {
    const terms = termsOf(bit, value);
    return el("tr", {}, el("th", { scope: "row" }, String(bit), el("span", { class: "quiet small" }, t("block", blockOf(all, bit)))),
      cell(nameA, decided(value, marginA)), cell(nameB, decided(1 - value, marginB)),
      terms.map((list, n) => cell(heads[n], termList(list))));
  });
  const body = el("tbody", {}, rows.slice(0, BITS_SHOWN));
  const columns = [t("bit"), capital(nameA), capital(nameB), ...heads].map((head) => el("th", { scope: "col" }, head));
  part.append(el("table", { class: "bit-table" }, el("thead", {}, el("tr", {}, columns)), body));
  if (rows.length > BITS_SHOWN) {
    const more = el("button", { type: "button", class: "plain", onclick: () => {
      body.append(...rows.slice(BITS_SHOWN));
      more.remove();
      rows[BITS_SHOWN].tabIndex = -1;
      rows[BITS_SHOWN].focus();
    } }, t("otherBits", rows.length - BITS_SHOWN));
    part.append(el("p", {}, more));
  }
  if (heads.length > 0) part.append(el("p", { class: "quiet small" }, analyzed ? t("onlyTermsOf", nameA) : "", t("margin")));
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
  const unlike = hasBoth ? t("weightsOfBoth", nameA, nameB) : "";
  return el("section", {}, el("h3", {}, t("heaviest")),
    el("p", { class: "quiet small" }, t("weights"), unlike),
    el("ul", { class: "weights" }, items));
}

/** Names the buckets that two texts share, by the kinds of features. */
function ways(foundBy) {
  return foundBy.map(({ filed, shared, of }) => {
    if (filed === "whole") return t("whole");
    return t(filed === "simhash" ? "tables" : "bands", shared, of);
  });
}

/** The same in brief. */
function briefly(foundBy) {
  if (foundBy.length === 0) return t("briefNone");
  const brief = foundBy.map(({ filed, shared, of }) =>
    (filed === "whole" ? t("whole") : t(filed === "simhash" ? "briefTables" : "briefBands", shared.length, of)));
  return t("foundByBriefly", brief);
}

/** By which buckets a search finds the one by the other, and what else keeps them apart. */
function foundPart(info, compared) {
  const { found_by: foundBy, similarity, min_similarity: least, is_near: isNear } = compared;
  const met = foundBy.length > 0 ? t("metIn", ways(foundBy)) : t("metNowhere");
  const isLess = !isNear && similarity !== null && least !== null && similarity < least;
  const areOthers = !isNear && info.same_numbers && compared.numbers_differ;
  const apart = [isLess ? t("tooFew", t("orMore", least)) : null, areOthers ? t("otherNumbers") : null];
  return el("section", { class: "found-by" }, el("h3", {}, t("foundBy")), el("p", {}, met),
    apart.filter(Boolean).map((why) => el("p", {}, why)));
}

/** Returns the details: what was met, the simhashes' bits, and the heaviest terms. */
export function whyPart(info, compared, analyzed, terms, names) {
  const hasBits = info.n_tables > 0 && compared.bits.length === compared.distance;
  const toggle = el("summary", {}, `${t("why")} `, el("span", { class: "quiet" }, briefly(compared.found_by)));
  return el("details", { class: "why" }, toggle, foundPart(info, compared),
    hasBits ? bitsPart(info, compared, analyzed, names) : null,
    hasBits && terms?.length ? termsPart(terms, names) : null);
}
