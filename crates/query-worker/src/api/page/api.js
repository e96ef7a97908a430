// Client of the worker's API: requests, their key, and failures in words.

import { byId, code, el, utf8Length } from "./dom.js";
import { bytes, problemTitle, t } from "./words.js";

const KEY = "pigeonhole.key";

/** A failure, with its remedy. */
export class Trouble extends Error {
  constructor(title, detail, { kind = "", id = "", again = false } = {}) {
    super(title);
    Object.assign(this, { title, detail, kind, id, again });
  }
}

/** Remedies for some kinds of problems, beyond the worker's own. */
const ADVICE = {
  "no-features": "Words make a text comparable; give it some.",
  "wrong-scope": "Forget the key, at the top of this page, and use one with that scope.",
  "unknown-host": "Open this page by the worker's address, or by localhost.",
  "store-unavailable": "The worker asks its store again with each request. Its log says what is wrong.",
  "internal": "If it happens again, look for the request's id in the worker's log.",
};

const sentence = (text) => {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
};

function troubleOf(status, problem) {
  const kind = String(problem?.type ?? "").replace(/^urn:pigeonhole:problem:/, "");
  const id = String(problem?.instance ?? "").replace(/^urn:pigeonhole:request:/, "");
  if (!kind) return new Trouble(t("notTheWorker"), t("notTheWorkerDetail", status), { again: true });
  const detail = [sentence(String(problem.detail)), ADVICE[kind]].filter(Boolean).join(" ");
  return new Trouble(problemTitle(kind, String(problem.title)), detail, { kind, id, again: status === 429 || status >= 500 });
}

const stored = () => sessionStorage.getItem(KEY);

export function forgetKey() {
  sessionStorage.removeItem(KEY);
  byId("forget-key").hidden = true;
}

let asking = null;

/** Asks the user for a key, once for all waiting requests. Resolves to false if none is given. */
function askForKey(problem) {
  asking ??= new Promise((resolve) => {
    const [form, input] = [byId("key-form"), byId("key")];
    const before = document.activeElement;
    byId("key-reason").textContent = problem.kind === "unknown-key" ? problem.detail : "";
    form.hidden = false;
    input.focus();
    const end = (key) => {
      form.hidden = true;
      form.onsubmit = form.onkeydown = byId("key-cancel").onclick = null;
      input.value = "";
      if (key) sessionStorage.setItem(KEY, key);
      before?.focus?.();
      asking = null;
      resolve(Boolean(key));
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      const key = input.value.trim();
      // A header carries no other characters.
      if (/^[\x21-\x7e]*$/.test(key)) return end(key);
      byId("key-reason").textContent = t("keyAscii");
    };
    form.onkeydown = (event) => {
      if (event.key === "Escape") end(null);
    };
    byId("key-cancel").onclick = () => end(null);
  });
  return asking;
}

/** Returns the lines of an answer of JSON Lines, or the value of one of JSON; null for neither. */
async function read(response) {
  if (!response.headers.get("Content-Type")?.startsWith("application/x-ndjson")) return response.json().catch(() => null);
  const lines = (await response.text()).split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/**
 * Asks the worker, and the user for a key if the worker requires one. A body that is a list is
 * sent as a batch. Throws a Trouble, or an AbortError if `signal` aborts.
 */
export async function ask(method, path, body, signal) {
  for (;;) {
    const key = stored();
    byId("forget-key").hidden = !key;
    const headers = key ? { Authorization: `Bearer ${key}` } : {};
    const lines = Array.isArray(body) ? body.map((line) => `${JSON.stringify(line)}\n`).join("") : null;
    if (body) headers["Content-Type"] = lines === null ? "application/json" : "application/x-ndjson";
    let response, answer;
    try {
      response = await fetch(path, { method, headers, body: lines ?? (body && JSON.stringify(body)), signal, cache: "no-store", credentials: "same-origin", redirect: "error" });
      answer = response.status === 204 ? {} : await read(response);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Trouble(t("gone"), t("goneDetail", location.origin), { kind: "gone", again: true });
    }
    signal?.throwIfAborted();
    byId("forget-key").hidden = !stored();
    if (response.ok && answer) return answer;
    const trouble = troubleOf(response.status, answer);
    if (response.status !== 401) throw trouble;
    // Another request may have got a new key meanwhile.
    if (stored() !== key) continue;
    forgetKey();
    if (!(await askForKey(trouble))) throw trouble;
  }
}

let [known, first] = [null, null];

/** Returns the worker's description of the index: the current one, or the last of this page. */
export async function index(isNow = false) {
  if (known && !isNow) return known;
  if (known) return (known = await ask("GET", "v1/index"));
  first ??= ask("GET", "v1/index").finally(() => { first = null; });
  return (known = await first);
}

/** Throws if texts are too long: the worker may cut off a body before its refusal is read. */
export async function checkLength(...texts) {
  const { text_bytes_max: most, body_bytes_max: body } = await index();
  const sizes = texts.map(utf8Length);
  const [longest, all] = [Math.max(...sizes), sizes.reduce((sum, size) => sum + size, 0)];
  if (longest > most) throw new Trouble(t("tooLong"), t("textTooLong", bytes(longest), bytes(most)), { kind: "text-too-long" });
  // In JSON a character may take six bytes; most take their UTF-8 length.
  const written = texts.reduce((sum, text) => sum + utf8Length(JSON.stringify(text)), 1000);
  if (written > body) throw new Trouble(t("tooLong"), t("bodyTooLong", bytes(all), bytes(body)), { kind: "too-large" });
}

/** Returns the element that shows a failure. */
export function shown(error, again) {
  if (!(error instanceof Trouble)) throw error;
  const { title, detail, kind, id } = error;
  return el("div", { class: "problem", "data-kind": kind },
    el("h2", {}, title),
    el("p", {}, detail),
    id ? el("p", { class: "quiet" }, `${t("request")} `, code(id)) : null,
    error.again && again ? el("button", { type: "button", onclick: again }, t("tryAgain")) : null);
}
