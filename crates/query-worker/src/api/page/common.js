// Similarity of two texts, in words.

import { el } from "./dom.js";
import { share, t } from "./words.js";

/** Places with other numbers that are shown. */
const NUMBERS_SHOWN = 12;

/** Returns a similarity in words: to a tenth of a percent where it is counted. */
export const nearness = (similarity, isExact) => (isExact ? share(similarity, 1) : t("about", share(similarity)));

/** Returns the share of each text that the other contains, in words. */
export function contained({ a, b }, [nameA, nameB]) {
  return t("contained", share(a.share, 1), share(b.share, 1), nameA, nameB);
}

/** Returns a note on differing numbers, which shared runs do not show: 1000 has those of 10000. */
export function numbersNote({ numbers_differ: differ, numbers }) {
  if (!differ) return null;
  if (!numbers?.length) return el("p", { class: "note" }, `${t("numbersDiffer")}${t("stop")}`.trim());
  const places = numbers.slice(0, NUMBERS_SHOWN).map(({ a, b }) => el("li", {},
    el("del", {}, a.join(", ") || t("nothing")), " → ", el("ins", {}, b.join(", ") || t("nothing"))));
  const left = numbers.length - places.length;
  return el("div", { class: "note" }, t("numbersDiffer"), t("colon"),
    el("ul", { class: "numbers" }, places, left > 0 ? el("li", {}, t("more", left)) : null));
}

/** Returns the similarity of two sides by an answer of /v1/compare; null if it is unknown. */
export function inCommonPart(compared, names) {
  if (compared.similarity === null) return null;
  return el("section", { class: "common" }, el("h3", {}, t("common")),
    el("p", {}, el("strong", {}, nearness(compared.similarity, compared.exact)), t("ofEither"), contained(compared, names)),
    numbersNote(compared),
    el("p", { class: "quiet small" }, t(compared.exact ? "counted" : "estimated"), t("colon"), t("runs")));
}
