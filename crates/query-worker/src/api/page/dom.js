// Elements, and numbers for people. Texts become text nodes only, so no text is ever markup.

/**
 * Returns an element with attributes and children. Attributes `on…` are listeners; `false` and
 * `undefined` leave an attribute out.
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Announces an event to screen readers. */
export function announce(text) {
  byId("status").textContent = text;
}

export const number = (n) => n.toLocaleString("en");

export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

export const percent = (part) => `${(100 * part).toFixed(1)} %`;

/** Returns a share in percent, rounded down: only equal texts have 100 %. */
export function share(part, digits = 0) {
  const scale = 10 ** digits;
  return `${(Math.floor(part * 100 * scale + 1e-6) / scale).toFixed(digits)} %`;
}

export function bytes(n) {
  if (n < 1024) return count(n, "byte");
  const units = ["KiB", "MiB", "GiB", "TiB"];
  const unit = Math.min(Math.floor(Math.log2(n) / 10), units.length);
  const value = n / 1024 ** unit;
  return `${Number.isInteger(value) ? number(value) : value.toFixed(1)} ${units[unit - 1]}`;
}

/** Returns the time of an insertion, in the reader's time zone. */
export function time(rfc3339) {
  const date = new Date(rfc3339);
  const shown = Number.isNaN(date.getTime())
    ? rfc3339
    : date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  return el("time", { datetime: rfc3339, title: rfc3339 }, shown);
}

/** An id or a source: it may be long, right to left, or look like markup. */
export const name = (text, kind) => el("bdi", { class: kind, title: text }, text);

const encoder = new TextEncoder();
export const utf8Length = (text) => encoder.encode(text).length;

/** Sends a form by Ctrl+Enter in any of its texts, too. */
export function onSend(form, send) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
}
