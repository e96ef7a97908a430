// Similarity of two texts, in words.

import { el, share } from "./dom.js";

/** Returns a bound on a share, in words. */
export const isOrMore = (part) => (part === 1 ? "100 %" : `${Number((100 * part).toFixed(2))} % or more`);

/** Returns the share of each text that the other contains, in words. */
export function contained({ a, b }, [nameA, nameB]) {
  return `${share(a.share, 1)} of ${nameA} is in ${nameB}, and ${share(b.share, 1)} of ${nameB} in ${nameA}.`;
}

/** Returns a note on differing numbers, which shared runs do not show: 1000 has those of 10000. */
export const numbersNote = ({ numbers_differ: differ }) => (differ ? el("p", { class: "note" }, "The numbers in them differ.") : null);

/** Returns the similarity of two sides by an answer of /v1/compare; null if it is unknown. */
export function inCommonPart(compared, names) {
  if (compared.similarity === null) return null;
  const how = compared.exact ? "Counted in the texts" : "By the signatures, which estimate it for texts of more than 50 characters";
  return el("section", { class: "common" }, el("h3", {}, "In common"),
    el("p", {}, el("strong", {}, share(compared.similarity, 1)), ` of what either has. ${contained(compared, names)}`),
    numbersNote(compared),
    el("p", { class: "quiet small" }, `${how}: runs of five characters, in Chinese of four, in short texts of two, without case, width, punctuation or repetitions.`));
}
