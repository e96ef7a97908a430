// The cluster of a document: those near it, those near them, and so on, up to a bound.

import { ask, index } from "./api.js";
import { answering } from "./answer.js";
import { announce, el, name } from "./dom.js";
import { hits } from "./hits.js";
import { viewLink } from "./links.js";
import { t } from "./words.js";

/** The most documents of a cluster, beside the one from which the walk begins. */
const DOCUMENTS_MAX = 50;
/** The most requests of a walk after its first, and the most documents asked about in one. */
const REQUESTS_MAX = 10;
const LINES_MAX = 10;

/**
 * Walks from a document to those near it, and on from them. Each has the id that the walk came
 * from (`via`) and its fingerprint (`from`), and the number of steps from the first.
 */
async function walked(id, { batch_lines_max: linesMax }, signal) {
  const query = (id) => ({ id, limit: DOCUMENTS_MAX });
  const [found, seen, waiting] = [[], new Set([id]), []];
  let isCut = false;
  const take = ({ fingerprint, matches, n_matches: n }, { id: via, steps }) => {
    isCut ||= n > matches.length;
    for (const match of matches.filter((match) => !seen.has(match.id))) {
      if (found.length === DOCUMENTS_MAX) return void (isCut = true);
      seen.add(match.id);
      found.push({ ...match, via, from: fingerprint, steps: steps + 1 });
      waiting.push(found.at(-1));
    }
  };
  take(await ask("POST", "v1/query", query(id), signal), { id, steps: 0 });
  for (let n = 0; n < REQUESTS_MAX && waiting.length > 0; n += 1) {
    const asked = waiting.splice(0, Math.min(LINES_MAX, linesMax));
    const answers = await ask("POST", "v1/query:batch", asked.map(({ id }) => query(id)), signal);
    // A document that was removed meanwhile leads nowhere.
    answers.forEach((answer, n) => answer.status === 200 && take(answer, asked[n]));
  }
  return { found, isCut: isCut || waiting.length > 0 };
}

/** Shows the cluster of a document. */
export function show(id) {
  return answering(t("searching"), async (signal) => {
    const info = await index();
    const { found, isCut } = await walked(id, info, signal);
    const title = found.length === 0 ? t("noneNearThis") : t("clusterOf", found.length + 1);
    announce(title);
    const head = el("article", { class: "document" }, el("h2", {}, name(id, "id")),
      el("p", { class: "actions" }, viewLink({ id }, t("walk"))));
    if (found.length === 0) return [head, el("h2", {}, title)];
    const searchOf = ({ via, from }) => ({ info, text: null, id: via, fingerprint: from, names: [t("theOneBefore"), t("thisDocument")], analyzed: null });
    return [head, el("h2", {}, title), el("p", {}, t("clusterIs"), isCut ? ` ${t("clusterCut")}` : ""), ...hits(searchOf, found)];
  });
}
