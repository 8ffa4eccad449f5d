"use strict";
// Shows the view that the server returns, and sends it orders. It decides nothing about the protocol.
const one = (selector) => document.querySelector(selector);
const all = (selector) => document.querySelectorAll(selector);
let view = null;
let seed = 0;
let waiting = Promise.resolve();

function make(tag, content = "", className = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(content);
  return element;
}

function row(cells, classes = []) {
  const line = make("tr");
  cells.forEach((cell, index) => line.append(make("td", cell, classes[index] || "")));
  return line;
}

function order(asked) {
  // one after the other, so that quick clicks arrive in order
  waiting = waiting.then(() => perform(asked));
  return waiting;
}

async function perform(asked) {
  const note = one(".note");
  try {
    const response = await fetch("do", { method: "POST", body: JSON.stringify(asked) });
    const answer = await response.json();
    note.classList.toggle("error", Boolean(answer.error));
    note.textContent = answer.error || answer.note;
    if (!answer.error) {
      view = answer;
      show();
    }
  } catch (error) {
    note.classList.add("error");
    note.textContent = `kafka-spec explore no longer answers: ${error.message}`;
  }
}

function show() {
  const { now, place, steps } = view;
  one(".model").textContent = [view.model, view.summary, view.bounds].filter(Boolean).join(" · ");
  one("h1").textContent = now.summary;
  const wrong = view.properties.filter((claim) => claim.wrong);
  one(".wrong").textContent = wrong.map((claim) => `${claim.name} is violated: ${claim.summary}`).join(". ");
  one("#where").textContent = `state ${place + 1} of ${steps.length}`;
  one("#first").disabled = one("#previous").disabled = place === 0;
  one("#last").disabled = one("#next").disabled = place === steps.length - 1;
  one("#link").href = `#start=${view.start}&steps=${view.numbers.slice(0, place).join(",")}`;
  history.replaceState(null, "", one("#link").href);
  showChoices();
  showStep(now);
  showWay();
  showState();
  showMachines(now);
}

function showChoices() {
  one(".choices ol").replaceChildren(...view.choices.map((choice) => {
    const button = make("button", choice.summary);
    button.append(make("span", choice.action, "action"));
    button.onclick = () => order({ do: "take", number: choice.number });
    const item = make("li", "", choice.kind);
    item.append(button);
    return item;
  }));
  if (!view.choices.length) one(".choices ol").append(make("li", "Nothing can happen here."));
  showRefusals();
}

function showRefusals() {
  const text = one("#rule").value.toLowerCase();
  const shown = view.refusals.filter((refusal) => refusal.rule.toLowerCase().includes(text));
  one(".refused summary").textContent = `What cannot happen, and why (${view.refusals.length})`;
  one(".refused ul").replaceChildren(...shown.map((refusal) => {
    const item = make("li", make("code", `${refusal.rule}(${refusal.binding})`));
    if (refusal.guard) item.append(" needs ", make("code", refusal.guard));
    item.append(make("p", refusal.guard ? refusal.because : `a bound: ${refusal.because}`));
    return item;
  }));
}

function showStep(now) {
  one(".now h2").textContent = `${view.place + 1}. ${now.summary}`;
  one(".now .action").textContent = view.place === 0 ? "" : now.action;
  one(".reference").textContent = [view.place === 0 ? "" : `${now.actor}, ${now.kind}`, now.reference].filter(Boolean).join(" · ");
  const told = [["received", now.received], ["sent", now.sent], ["fired", now.fired.map(fired)]];
  one(".messages").replaceChildren(...told.flatMap(([tag, texts]) => texts.map((text) => {
    const line = make("p", make("span", tag, "tag"));
    line.append(make("code", text));
    return line;
  })));
  one(".changes").replaceChildren();
  if (now.changed.length) {
    const table = make("table");
    table.append(...now.changed.map((change) => row(change, ["", "before", "after", "place"])));
    table.querySelectorAll("td:first-child").forEach((cell) => cell.replaceChildren(
      ...cell.textContent.split(/(?<=\.)/).flatMap((part) => [part, document.createElement("wbr")]))); // a path breaks at its dots
    one(".changes").append(table);
  }
  const claims = [...view.properties].sort((one, other) => other.wrong - one.wrong); // what is violated comes first
  one(".properties ul").replaceChildren(...claims.map((claim) => {
    const tick = make("input");
    tick.type = "checkbox";
    tick.checked = claim.stop;
    tick.onchange = () => order({ do: "stop", name: claim.name });
    const label = make("label", tick);
    label.append(claim.name);
    const item = make("li", label);
    item.title = `${claim.kind}: ${claim.summary}`;
    item.append(make("span", claim.verdict, claim.wrong ? "wrong" : "place"));
    return item;
  }));
}

function fired(firing) {
  const entity = firing.entity.length ? `[${firing.entity.join(", ")}]` : "";
  return `${firing.machine}${entity} ${firing.trigger}: ${firing.source} → ${firing.target === null ? "refused" : firing.target}`;
}

function showWay() {
  const head = make("tr");
  for (const name of ["", "", ...view.columns]) head.append(make("th", name));
  one(".story thead").replaceChildren(...(view.columns.length ? [head] : []));
  all(".story th").forEach((cell, index) => {
    if (index < 2) return;
    cell.title = "click to hide";
    cell.onclick = () => order({ do: "hide", name: view.columns[index - 2] });
  });
  one(".story tbody").replaceChildren(...view.steps.map((step, index) => {
    const line = row([`${index + 1}`, step.summary, ...step.shows], ["number"]);
    if (step.kind === "fault") line.classList.add("fault");
    if (index > view.place) line.classList.add("later");
    if (index === view.place) line.setAttribute("aria-current", "step");
    line.onclick = () => order({ do: "go", place: index });
    return line;
  }));
  const current = one(".story [aria-current]");
  const frame = one(".story .scroll");
  const below = current.getBoundingClientRect().bottom - frame.getBoundingClientRect().bottom;
  const above = current.getBoundingClientRect().top - frame.getBoundingClientRect().top;
  if (below > 0) frame.scrollTop += below + 4;
  else if (above < 0) frame.scrollTop += above - 4;
}

function showState() {
  const text = one("#field").value.toLowerCase();
  const changed = new Set(view.now.changed.map(([path]) => path));
  one(".whole h2 code").textContent = view.fingerprint;
  const [path, value] = view.now.state.find(([, value]) => /^\d+$/.test(value)) ?? view.now.state[0] ?? ["x", "0"];
  one("#text").placeholder = `s.${path} == ${/^\d+$/.test(value) ? value : 0}`;
  one(".whole tbody").replaceChildren(...view.now.state.filter(([path]) => path.toLowerCase().includes(text)).map(([path, value]) => {
    const line = row([path, value]);
    line.classList.toggle("changed", changed.has(path));
    return line;
  }));
}

function showMachines(now) {
  one(".machines").hidden = all(".machine").length === 0;
  all(".machine .lit").forEach((element) => element.classList.remove("lit"));
  for (const figure of all(".machine")) {
    const name = figure.dataset.machine;
    const moved = now.fired.filter((firing) => firing.machine === name).map((firing) => firing.entity.join());
    const caption = figure.querySelector("figcaption");
    caption.replaceChildren(make("strong", `${name} `));
    for (const entity of now.machines.filter((entry) => entry.machine === name)) {
      const who = entity.entity.map((index, place) => `${entity.names[place]} ${index}`).join(", ");
      caption.append(make("span", who ? `${who}: ${entity.state}` : entity.state, moved.includes(entity.entity.join()) ? "entity moved" : "entity"));
      document.getElementById(`state-${name}-${entity.state}`)?.classList.add("lit");
    }
  }
  for (const id of now.fired.flatMap((firing) => firing.arrows)) document.getElementById(id)?.classList.add("lit");
}

function linked() {
  const match = /^#start=(\d+)&steps=([\d,]*)$/.exec(location.hash);
  return match ? { do: "follow", start: Number(match[1]), numbers: match[2] ? match[2].split(",").map(Number) : [] } : null;
}

function wander() {
  seed += 1;
  return order({ do: "wander", steps: 1000, seed });
}

const go = (place) => order({ do: "go", place: Math.max(0, place) });
const moves = {
  ArrowLeft: () => go(view.place - 1), ArrowRight: () => go(view.place + 1), Home: () => go(0), End: () => go(view.steps.length - 1), r: wander,
};
one("#first").onclick = moves.Home;
one("#previous").onclick = moves.ArrowLeft;
one("#next").onclick = moves.ArrowRight;
one("#last").onclick = moves.End;
one("#wander").onclick = wander;
one("#link").onclick = (event) => {
  event.preventDefault();
  navigator.clipboard?.writeText(event.target.href).catch(() => {});
  one(".note").classList.remove("error");
  one(".note").textContent = "The address now names this state; it works while this explorer runs, and with any other of this model.";
};
one("#ask").onsubmit = (event) => {
  event.preventDefault();
  order({ do: "nearest", text: one("#text").value });
};
one("#column").onclick = () => order({ do: "show", text: one("#text").value });
one("#rule").oninput = showRefusals;
one("#field").oninput = showState;
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || !view || (event.target.tagName === "INPUT" && event.target.type !== "checkbox")) return;
  const number = Number(event.key);
  if (number >= 1 && number <= view.choices.length && !event.shiftKey) order({ do: "take", number: view.choices[number - 1].number });
  else if (moves[event.key]) moves[event.key]();
  else return;
  event.preventDefault();
});
addEventListener("hashchange", () => { if (linked()) order(linked()); });
order(linked() || { do: "look" });
