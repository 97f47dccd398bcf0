// The form: marks as one types, keeps score, saves answers to a file and opens them again.

const SHEET = JSON.parse(document.getElementById("sheet").textContent);
const SIGNS = { right: "✓", "carried forward": "↪", partly: "◐", wrong: "✗", unreadable: "?" };
const fields = [...document.querySelectorAll("[data-blank]")];
const byId = (id) => document.getElementById(id);
const hasKey = SHEET.blanks.every((blank) => "value" in blank);

function answers() {
  const written = Object.fromEntries(fields.map((field) => [field.dataset.blank, field.value]));
  return { written, unit: byId("unit")?.value ?? "" };
}

function show() {
  if (!hasKey) return;
  const marks = markBlanks(SHEET.blanks, answers());
  const isShown = byId("live").checked;
  for (const mark of marks) {
    const field = document.querySelector(`[data-blank="${mark.id}"]`);
    const said = byId(`mark-${mark.id}`);
    const verdict = isShown && mark.verdict !== "empty" ? mark.verdict : "";
    field.dataset.verdict = verdict;
    said.textContent = verdict ? SIGNS[verdict] : "";
    said.title = verdict ? [verdict, mark.note].filter(Boolean).join(": ") : "";
    const isNamed = ["carried forward", "partly", "unreadable"].includes(verdict) || mark.note;
    byId(`note-${mark.id}`).textContent = verdict ? (isNamed ? said.title : verdict) : "";
    byId(`note-${mark.id}`).classList.toggle("hidden", !verdict || !isNamed);
  }
  const points = marks.reduce((sum, mark) => sum + mark.points, 0);
  const total = SHEET.blanks.reduce((sum, blank) => sum + blank.points, 0);
  const left = marks.filter((mark) => mark.verdict === "empty").length;
  byId("score").textContent = isShown ? `${points} of ${total} points, ${left} left to fill in` : "";
}

function save() {
  const { written, unit } = answers();
  const filled = Object.fromEntries(Object.entries(written).filter(([, text]) => text.trim() !== ""));
  const content = { sheet: SHEET.id, name: byId("name").value.trim(), unit, answers: filled };
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" }));
  link.download = `answers${content.name ? `-${content.name.replace(/[^\p{L}\p{N}]+/gu, "-")}` : ""}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function open() {
  const [file] = byId("open").files;
  if (!file) return;
  try {
    const content = JSON.parse(await file.text());
    if (content.sheet !== SHEET.id) throw new Error("they belong to another sheet");
    for (const field of fields) field.value = content.answers[field.dataset.blank] ?? "";
    byId("name").value = content.name ?? "";
    if (byId("unit")) byId("unit").value = content.unit || byId("unit").value;
    show();
  } catch (error) {
    byId("score").textContent = `These answers cannot be opened: ${error.message}.`;
  }
  byId("open").value = "";
}

for (const field of [...fields, byId("unit"), byId("live")]) field?.addEventListener("input", show);
byId("save").addEventListener("click", save);
byId("open").addEventListener("change", open);
byId("print").addEventListener("click", () => window.print());
show();
globalThis.markAll = (written, unit) =>
  markBlanks(SHEET.blanks, { written, unit }).map((mark) => [mark.verdict, mark.points]);
document.documentElement.dataset.ready = "yes";
