"use strict";
// Shows one state of the trace at a time. The data says everything; this decides nothing but what is in sight.
const data = JSON.parse(document.getElementById("data").textContent);
const last = data.steps.length;
const one = (selector) => document.querySelector(selector);
const all = (selector) => document.querySelectorAll(selector);
let shown = 0;

function make(tag, content = "", className = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(content);
  return element;
}

function row(cells, classes = []) {
  const line = document.createElement("tr");
  cells.forEach((cell, index) => line.append(make("td", cell, classes[index] || "")));
  return line;
}

function tellOnce() {
  one(".model").textContent = [data.model, data.summary, data.bounds].filter(Boolean).join(" · ");
  one("h1").textContent = `${data.property.name} ${data.property.ending}`;
  one("h1").classList.toggle("reached", data.property.ending !== "is violated");
  one(".subtitle").textContent = [data.property.summary, data.property.note].filter(Boolean).join(". ");
  one(".subtitle").title = data.property.reference;
  for (const reason of data.reasons) {
    const line = make("p", "");
    line.append(make("strong", reason.function), " does not hold");
    if (reason.values.length) {
      line.append(" for ", make("code", reason.values.map(([name, value]) => `${name} = ${value}`).join(", "), "values"));
    }
    line.append(", because of ", make("code", reason.because));
    one(".reasons").append(line, make("p", `${reason.summary} ${reason.place}`, "place"));
  }
  data.steps.forEach((step, index) => {
    const link = make("a", "", step.kind === "fault" ? "fault" : "");
    link.href = `#step=${index + 1}`;
    link.append(make("span", `${index + 1}`, "number"), make("span", step.summary));
    const item = make("li", "");
    item.append(link);
    one(".story ol").append(item);
  });
  for (const limit of data.not_covered) {
    const item = make("li", "");
    item.append(make("strong", limit.what), `: ${limit.why}`);
    one(".limits ul").append(item);
  }
  one(".limits").hidden = data.not_covered.length === 0;
  one("#slider").max = last;
  one(".machines").hidden = all(".machine").length === 0;
}

function tellStep(number, step) {
  one(".now h2").textContent = `${number}. ${step.summary}`;
  one(".action").textContent = number === 1 ? "" : step.action;
  one(".reference").textContent = [number === 1 ? "" : `${step.actor}, ${step.kind}`, step.reference].filter(Boolean).join(" · ");
  const messages = one(".messages");
  messages.replaceChildren();
  const told = [["received", step.received], ["sent", step.sent], ["fired", step.fired.map(fired)]];
  for (const [tag, texts] of told) {
    for (const text of texts) {
      const line = make("p", "");
      line.append(make("span", tag, "tag"), make("code", text));
      messages.append(line);
    }
  }
  const changes = one(".changes");
  changes.replaceChildren();
  if (step.changed.length) {
    const table = make("table", "");
    const head = make("tr", "");
    for (const name of ["field", "before", "after", ""]) head.append(make("th", name));
    table.append(head, ...step.changed.map((change) => row(change, ["", "before", "after", "place"])));
    changes.append(table);
  } else if (number > 1) {
    changes.append(make("p", "No field changed.", "place"));
  }
}

function fired(firing) {
  const entity = firing.entity.length ? `[${firing.entity.join(", ")}]` : "";
  return `${firing.machine}${entity} ${firing.trigger}: ${firing.source} → ${firing.target === null ? "refused" : firing.target}`;
}

function tellMachines(step) {
  all(".machine .lit").forEach((element) => element.classList.remove("lit"));
  for (const figure of all(".machine")) {
    const name = figure.dataset.machine;
    const moved = step.fired.filter((firing) => firing.machine === name).map((firing) => firing.entity.join());
    const caption = figure.querySelector("figcaption");
    caption.replaceChildren(make("strong", `${name} `));
    for (const entity of step.machines.filter((entry) => entry.machine === name)) {
      const who = entity.entity.map((index, place) => `${entity.names[place]} ${index}`).join(", ");
      const label = who ? `${who}: ${entity.state}` : entity.state;
      caption.append(make("span", label, moved.includes(entity.entity.join()) ? "entity moved" : "entity"));
      document.getElementById(`state-${name}-${entity.state}`)?.classList.add("lit");
    }
  }
  for (const id of step.fired.flatMap((firing) => firing.arrows)) document.getElementById(id)?.classList.add("lit");
}

function tellState(step) {
  const changed = new Set(step.changed.map(([path]) => path));
  one(".whole tbody").replaceChildren(...step.state.map(([path, value]) => {
    const line = row([path, value]);
    line.classList.toggle("changed", changed.has(path));
    return line;
  }));
}

function show(number, follow = true) {
  number = Math.min(last, Math.max(1, Number.isInteger(number) ? number : 1));
  if (number === shown) return;
  shown = number;
  const step = data.steps[number - 1];
  tellStep(number, step);
  tellMachines(step);
  tellState(step);
  all(".story a").forEach((link, index) => {
    link.classList.toggle("later", index + 1 > number);
    if (index + 1 === number) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  });
  const current = one(".story [aria-current]");
  const list = one(".story ol");
  if (current.offsetTop < list.scrollTop) list.scrollTop = current.offsetTop;
  const end = current.offsetTop + current.offsetHeight;
  if (end > list.scrollTop + list.clientHeight) list.scrollTop = end - list.clientHeight;
  all(".band").forEach((band) => band.classList.toggle("lit", band.id === `step-${number}`));
  one("#slider").value = number;
  one("#where").textContent = `state ${number} of ${last}`;
  one("#link").href = `#step=${number}`;
  one("#link").textContent = "copy link";
  one("#first").disabled = one("#previous").disabled = number === 1;
  one("#last").disabled = one("#next").disabled = number === last;
  if (follow) history.replaceState(null, "", `#step=${number}`);
}

function asked() {
  const match = /^#step=(\d+)$/.exec(location.hash);
  return match ? Number(match[1]) : 1;
}

tellOnce();
show(asked(), false);
one("#first").onclick = () => show(1);
one("#previous").onclick = () => show(shown - 1);
one("#next").onclick = () => show(shown + 1);
one("#last").onclick = () => show(last);
one("#slider").oninput = (event) => show(Number(event.target.value));
all(".band").forEach((band) => { band.onclick = () => show(Number(band.id.slice("step-".length))); });
one("#link").onclick = async (event) => {
  event.preventDefault();
  const link = event.target;
  history.replaceState(null, "", link.href);
  try {
    await navigator.clipboard.writeText(link.href);
    link.textContent = "copied";
  } catch {
    link.textContent = "the address is the link"; // a browser may refuse a page the clipboard
  }
};
addEventListener("hashchange", () => show(asked(), false));
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.id === "slider") return;
  const to = { ArrowLeft: shown - 1, ArrowUp: shown - 1, ArrowRight: shown + 1, ArrowDown: shown + 1, Home: 1, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  show(to);
});
