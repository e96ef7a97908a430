// Compare: two texts beside each other, and the verdict of the index on them.

import { ask, checkLength, index, shown } from "./api.js";
import { contained, isOrMore, numbersNote } from "./common.js";
import { announce, byId, count, el, onSend, share } from "./dom.js";
import { differencesPart, distanceWords, whyPart } from "./explain.js";

const TERMS = 1000;
const NAMES = ["the one text", "the other"];

let asked = null;

export function start() {
  onSend(byId("compare-form"), compare);
}

/** Returns the bound of the index in words, and its verdict if that departs from the bound. */
function rule(info, { similarity, min_similarity: least, is_near: isNear, distance, max_distance: most }) {
  if (least === null) return `${distanceWords(distance)}; this index takes texts for near-duplicates up to ${count(most, "bit")}.`;
  const said = `This index takes texts with ${isOrMore(least)} in common for near-duplicates.`;
  if (isNear === similarity >= least) return said;
  if (isNear) return `${said} It estimates, and takes these for such.`;
  if (info.profile === "classic" && distance > most) return `${said} It would not find these: it looks where up to ${count(most, "bit")} of 64 differ, and here ${distance} do.`;
  return `${said} It would miss these.`;
}

async function compare() {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  const [a, b] = [byId("compare-a").value, byId("compare-b").value];
  const answer = byId("compare-answer");
  answer.setAttribute("aria-busy", "true");
  announce("Comparing");
  try {
    await checkLength(a, b);
    const info = await index();
    const compared = await ask("POST", "v1/compare", { a: { text: a }, b: { text: b }, terms: TERMS, differences: true }, signal);
    const verdict = `${share(compared.similarity)} in common: ${compared.is_near ? "near-duplicates" : "not near-duplicates"}`;
    const limit = rule(info, compared);
    announce(`${verdict}. ${limit}`);
    answer.replaceChildren(
      el("div", { class: compared.is_near ? "verdict near" : "verdict" }, el("h2", {}, verdict), el("p", {}, limit), el("p", {}, contained(compared, NAMES)), numbersNote(compared)),
      el("div", { class: "explained" },
        differencesPart(compared.differences, NAMES), whyPart(info, compared, null, compared.terms, NAMES)));
  } catch (error) {
    if (error.name === "AbortError") return;
    answer.replaceChildren(shown(error, compare));
    announce(`${error.title}. ${error.detail}`);
  } finally {
    if (asked.signal === signal) answer.removeAttribute("aria-busy");
  }
}
