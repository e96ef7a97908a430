// A file in place of a pasted text: dropped onto the box, or chosen.

import { index, shown, Trouble } from "./api.js";
import { byId } from "./dom.js";
import { bytes, t } from "./words.js";

/** Reads a file as UTF-8. */
async function read(file) {
  const { text_bytes_max: most } = await index();
  if (file.size > most) throw new Trouble(t("tooLong"), t("fileTooLong", file.name, bytes(file.size), bytes(most)), { kind: "text-too-long" });
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (!text.includes("\0")) return text;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new Trouble(t("noText"), t("fileNoText", file.name), { kind: "no-text" });
}

/** Hands the text of each file to `take`. */
export function start(take) {
  const [area, input] = [byId("find-text"), byId("find-file")];
  const use = async (file) => {
    if (!file) return;
    try {
      take(await read(file));
    } catch (error) {
      byId("find-answer").replaceChildren(shown(error));
    }
  };
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  area.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    area.classList.add("dropping");
  });
  area.addEventListener("dragleave", () => area.classList.remove("dropping"));
  area.addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    area.classList.remove("dropping");
    use(event.dataTransfer.files[0]);
  });
  byId("find-choose").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    use(input.files[0]);
    input.value = "";
  });
}
