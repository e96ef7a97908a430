// Client of the worker's API: requests, their key, and failures in words.

import { byId, bytes, el, utf8Length } from "./dom.js";

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
  if (!kind) return new Trouble("The answer is not the worker's", `Something between this page and the worker answered with status ${status}.`, { again: true });
  const detail = [sentence(String(problem.detail)), ADVICE[kind]].filter(Boolean).join(" ");
  return new Trouble(String(problem.title), detail, { kind, id, again: status === 429 || status >= 500 });
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
      byId("key-reason").textContent = "A key has only ASCII letters, digits and signs. Were quotes or spaces pasted with it?";
    };
    form.onkeydown = (event) => {
      if (event.key === "Escape") end(null);
    };
    byId("key-cancel").onclick = () => end(null);
  });
  return asking;
}

/**
 * Asks the worker, and the user for a key if the worker requires one. Throws a Trouble, or an
 * AbortError if `signal` aborts.
 */
export async function ask(method, path, body, signal) {
  for (;;) {
    const key = stored();
    byId("forget-key").hidden = !key;
    const headers = key ? { Authorization: `Bearer ${key}` } : {};
    if (body) headers["Content-Type"] = "application/json";
    let response, answer;
    try {
      response = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal, cache: "no-store", credentials: "same-origin", redirect: "error" });
      answer = await response.json().catch(() => null);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Trouble("The worker does not answer", `Nothing came from ${location.origin}. Is the worker running, and can this machine reach it?`, { kind: "gone", again: true });
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

let known = null;

/** Returns the worker's description of the index: the current one, or the first of this page. */
export async function index(isNow = false) {
  if (isNow || !known) known = await ask("GET", "v1/index");
  return known;
}

/** Throws if texts are too long: the worker may cut off a body before its refusal is read. */
export async function checkLength(...texts) {
  const { text_bytes_max: most, body_bytes_max: body } = await index();
  const sizes = texts.map(utf8Length);
  const [longest, all] = [Math.max(...sizes), sizes.reduce((sum, size) => sum + size, 0)];
  if (longest > most) throw new Trouble("The text is too long", `It has ${bytes(longest)}, and this worker takes texts of ${bytes(most)} at most (--text-bytes-max).`, { kind: "text-too-long" });
  // In JSON a character may take six bytes; most take their UTF-8 length.
  const written = texts.reduce((sum, text) => sum + utf8Length(JSON.stringify(text)), 1000);
  if (written > body) throw new Trouble("The text is too long", `With ${bytes(all)} of text this request has more than the ${bytes(body)} that this worker takes (--body-bytes-max).`, { kind: "too-large" });
}

/** Returns the element that shows a failure. */
export function shown(error, again) {
  if (!(error instanceof Trouble)) throw error;
  const { title, detail, kind, id } = error;
  return el("div", { class: "problem", "data-kind": kind },
    el("h2", {}, title),
    el("p", {}, detail),
    id ? el("p", { class: "quiet" }, "Request ", el("code", {}, id)) : null,
    error.again && again ? el("button", { type: "button", onclick: again }, "Try again") : null);
}
