"use strict";
// Marks of a reader on pairs, the order of the pairs, and which of them are shown. Nothing leaves the
// page but by the download.

const pairs = [...document.querySelectorAll("[data-a]")];
const marks = new Map();

const keyOf = (pair) => JSON.stringify([pair.dataset.a, pair.dataset.b]);
const similarityOf = (pair) => Number(pair.dataset.similarity || 0);

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function choice(label, options, act) {
  const select = element("select", {}, ...options.map((text) => element("option", {}, text)));
  select.addEventListener("change", act);
  return [element("label", {}, label + " ", select), select];
}

// The same pair may stand in two lists; it has one mark.
function mark(pair, same) {
  const key = keyOf(pair);
  if (marks.get(key) === same) marks.delete(key);
  else marks.set(key, same);
  show();
}

for (const pair of pairs) {
  const own = [["the same document", true], ["different documents", false]].map(([text, same]) => {
    const button = element("button", { type: "button" }, text);
    button.dataset.same = same;
    button.addEventListener("click", () => mark(pair, same));
    return button;
  });
  (pair.querySelector("details") ?? pair).append(element("p", { className: "marks" }, "These are ", ...own));
}

const lists = new Map([...new Set(pairs.map((pair) => pair.parentElement))]
  .filter((list) => list.hasAttribute("data-pairs"))
  .map((list) => [list, [...list.children]]));

const orders = ["as listed", "least similar first", "most similar first"];
const kinds = ["all", "numbers differ", "marked", "not marked"];
const [orderLabel, order] = choice("order", orders, () => {
  for (const [list, listed] of lists) {
    const sign = [0, 1, -1][order.selectedIndex];
    list.append(...[...listed].sort((x, y) => sign * (similarityOf(x) - similarityOf(y))));
  }
});
const [kindLabel, kind] = choice("show", kinds, () => show());
const words = element("input", { type: "search", placeholder: "id or text" });
words.setAttribute("aria-label", "Only pairs with this id or text");
words.addEventListener("input", () => show());
const told = element("output");
const download = element("button", { type: "button" }, "Download marks");
download.addEventListener("click", () => {
  const seen = new Set();
  const lines = pairs.filter((pair) => marks.has(keyOf(pair)) && !seen.has(keyOf(pair)) && seen.add(keyOf(pair)));
  const text = lines.map((pair) => JSON.stringify({
    a: pair.dataset.a, b: pair.dataset.b, similarity: similarityOf(pair), same: marks.get(keyOf(pair)),
  }) + "\n").join("");
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  element("a", { href: url, download: "labels.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});

// What is folded on a telephone is open where there is room.
if (matchMedia("(min-width: 40.01rem)").matches) {
  for (const fold of document.querySelectorAll("details[data-fold]")) fold.open = true;
}

function show() {
  const wanted = words.value.toLowerCase();
  let nShown = 0;
  for (const pair of pairs) {
    const isMarked = marks.has(keyOf(pair));
    const isOfKind = [true, pair.hasAttribute("data-numbers-differ"), isMarked, !isMarked][kind.selectedIndex];
    const isShown = isOfKind && (!wanted || pair.textContent.toLowerCase().includes(wanted));
    pair.hidden = !isShown;
    // A pair that is looked for is not left in a folded list.
    if (isShown && (wanted || kind.selectedIndex > 0)) pair.parentElement.closest("details")?.setAttribute("open", "");
    nShown += isShown;
    for (const button of pair.querySelectorAll("button[data-same]")) {
      button.setAttribute("aria-pressed", String(isMarked && String(marks.get(keyOf(pair))) === button.dataset.same));
    }
  }
  download.disabled = marks.size === 0;
  told.textContent = `${nShown} of ${pairs.length} pairs, ${marks.size} marked`;
}

if (pairs.length > 0) {
  const bar = element("div", { className: "tools" }, orderLabel, kindLabel, words, told, download);
  bar.setAttribute("role", "region");
  bar.setAttribute("aria-label", "Pairs");
  document.querySelector("header").after(bar);
  show();
}
