"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
  // Text of others: characters that a reader would not see are written out, everything goes in as text.
  const visible = (text) => String(text).replaceAll("\r\n", "\n").replace(HIDDEN, (char) => (char === "\n" || char === "\t" ? char : `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`));
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = visible(text);
    if (className) made.className = className;
    return made;
  };
  const count = (value) => value.toLocaleString("en-US");
  const HEIGHT = 52, CHUNK = 200;
  const list = byId("list"), room = byId("room");
  const here = location.pathname.replace(/\/$/, "");
  let asked = { words: "", kind: "", way: "all" };
  let current = null;  // {id, draw} of the prompt that is shown
  let place = 0, matched = 0, version = "";
  let chunks = new Map();
  let turn = 0;  // of questions: an answer to an older one is dropped

  const parameters = (more) => new URLSearchParams({ ...asked, ...more });
  const fetchJson = async (name, more) => {
    const answer = await fetch(`${here}/${name}?${parameters(more)}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  };

  const remember = () => {
    const said = Object.fromEntries(Object.entries({ ...asked, ...current }).filter(([, value]) => value !== "" && value !== "all" && value !== 0));
    history.replaceState(null, "", `#${new URLSearchParams(said)}`);
  };
  const recall = () => {
    const said = new URLSearchParams(location.hash.slice(1));
    const ways = [...document.querySelectorAll("input[name=way]")];
    const way = ways.find((one) => one.value === said.get("way")) ?? ways[0];
    way.checked = true;
    asked = { words: said.get("words") ?? "", kind: said.get("kind") ?? "", way: way.value };
    byId("words").value = asked.words;
    current = said.has("id") ? { id: said.get("id"), draw: Number(said.get("draw") ?? 0) } : null;
  };

  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 5);
    const last = Math.min(matched, first + Math.ceil(list.clientHeight / HEIGHT) + 10);
    const entries = [];
    for (let at = first; at < last; at += 1) {
      const number = Math.floor(at / CHUNK);
      const row = chunks.get(number)?.[at - number * CHUNK];
      if (!chunks.has(number)) need(number);
      const entry = element("div", undefined, "entry");
      entry.style.top = `${at * HEIGHT}px`;
      entry.setAttribute("role", "option");
      if (row) {
        entry.dataset.at = at;
        entry.setAttribute("aria-selected", String(current !== null && current.id === row.id && current.draw === row.draw));
        const name = element("div");
        name.append(element("span", row.way, `way ${row.way}`), element("b", row.draw ? `${row.id} · draw ${row.draw}` : row.id));
        entry.append(name, element("div", row.start.replaceAll("\n", " "), "quiet"));
      }
      entries.push(entry);
    }
    room.replaceChildren(...entries);
  };

  const need = async (number) => {
    chunks.set(number, null);
    const mine = turn;
    const found = await fetchJson("rows.json", { start: number * CHUNK });
    if (mine !== turn) return;
    chunks.set(number, found.rows);
    draw();
  };

  const ask = async ({ keep = false } = {}) => {
    turn += 1;
    const mine = turn;
    const more = current === null ? {} : { id: current.id, draw: current.draw };
    let found;
    try { found = await fetchJson("rows.json", { start: 0, ...more }); } catch (error) { byId("shown").textContent = visible(error.message); return; }
    if (mine !== turn) return;
    version = found.version;
    chunks = new Map([[0, found.rows]]);
    matched = found.matched;
    room.style.height = `${matched * HEIGHT}px`;
    byId("shown").textContent = `${count(matched)} of ${count(found.total)} prompts`;
    for (const way of document.querySelectorAll("[data-way]")) way.textContent = count(found.ways[way.dataset.way]);
    showKinds(found.kinds, found.slices);
    if (found.place !== null) place = found.place;
    else if (!keep || current === null) { place = 0; current = null; }
    if (found.place !== null) list.scrollTop = Math.max(0, place * HEIGHT - list.clientHeight / 3);
    else if (!keep) list.scrollTop = 0;
    draw();
    if (current === null && matched) go(0); else if (current !== null) show(); else byId("one").replaceChildren(element("p", "Nothing like that.", "quiet"));
    remember();
  };

  const showKinds = (kinds, slices) => {
    const select = byId("kind");
    const options = kinds.map((kind) => { const one = element("option", `${kind.name} (${kind.failed.join(" → ")})`); one.value = kind.name; return one; });
    if (asked.kind && !kinds.some((kind) => kind.name === asked.kind)) { const one = element("option", `${asked.kind} (0)`); one.value = asked.kind; options.push(one); }
    const any = element("option", "any kind"); any.value = "";
    select.replaceChildren(any, ...options);
    select.value = asked.kind;
    [slices, kinds].forEach((counts, part) => byId("table").querySelectorAll("tbody")[part].replaceChildren(...counts.map((one) => {
      const row = document.createElement("tr"), name = element("th", one.name);
      name.scope = "row";
      const share = (failed) => (one.n ? `${count(failed)} (${Math.round(100 * failed / one.n)} %)` : count(failed));
      row.append(name, ...one.failed.map((failed) => element("td", share(failed))), element("td", count(one.n)));
      return row;
    })));
  };

  const go = async (to) => {
    if (!matched) return;
    place = Math.min(Math.max(to, 0), matched - 1);
    const number = Math.floor(place / CHUNK);
    if (!chunks.get(number)) {
      const mine = turn, found = await fetchJson("rows.json", { start: number * CHUNK });
      if (mine !== turn) return;
      chunks.set(number, found.rows);
    }
    const row = chunks.get(number)[place - number * CHUNK];
    current = { id: row.id, draw: row.draw };
    const top = place * HEIGHT;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
    draw();
    await show();
    remember();
  };

  const withMarks = (name, text, className) => {
    const made = element(name, undefined, className), shown = visible(text), wanted = asked.words.trim().toLowerCase();
    const low = shown.toLowerCase();
    let from = 0;
    if (wanted && low.length === shown.length) {
      for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, from)) {
        made.append(shown.slice(from, at), element("mark", shown.slice(at, at + wanted.length)));
        from = at + wanted.length;
      }
    }
    made.append(shown.slice(from));
    made.dir = "auto";
    return made;
  };
  const SIGNS = { pass: "✓", fail: "✗", undecided: "?" };
  const side = (one, name) => {
    const made = element("div", undefined, "side");
    if (name) made.append(element("h3", name));
    if (one === null) { made.append(element("p", "no answer", "quiet")); return made; }
    if (one.status !== "ok") made.append(element("p", { truncated: "cut at a limit", empty: "empty", refused: "refused", error: "the call failed" }[one.status] ?? one.status, "quiet small"));
    made.append(withMarks("div", one.answer, "text"));
    const marks = element("ul", undefined, "marks");
    for (const [outcome, kind, reason] of one.marks) {
      const line = element("li", undefined, outcome);
      line.append(element("span", SIGNS[outcome], "sign"), element("b", kind), " ", withMarks("span", reason));
      marks.append(line);
    }
    made.append(marks);
    return made;
  };

  const show = async () => {
    const mine = current;
    let found;
    try { found = await fetchJson("answer.json", { id: current.id, draw: current.draw }); } catch (error) { byId("one").replaceChildren(element("p", error.message, "quiet")); return; }
    if (mine !== current) return;
    const head = element("h2", found.draw ? `${found.id} · draw ${found.draw}` : found.id);
    head.prepend(element("span", found.way, `way ${found.way}`));
    const parts = [head];
    if (found.system) parts.push(element("h3", "system"), withMarks("div", found.system, "text asked quiet"));
    for (const one of found.turns) {
      const sides = element("div", undefined, "sides");
      sides.append(...one.sides.map((answer, number) => side(answer, one.sides.length > 1 ? found.names[number] : "")));
      parts.push(withMarks("div", one.prompt, "text asked"), sides);
    }
    byId("one").className = found.names.length > 1 ? "pair" : "";
    byId("one").replaceChildren(...parts);
  };

  let waiting = 0;
  byId("words").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { asked.words = byId("words").value; ask(); }, 120);
  });
  byId("kind").addEventListener("change", () => { asked.kind = byId("kind").value; ask(); });
  for (const radio of document.querySelectorAll("input[name=way]")) radio.addEventListener("change", () => { asked.way = radio.value; ask(); });
  byId("ask").addEventListener("submit", (event) => event.preventDefault());
  list.addEventListener("scroll", () => requestAnimationFrame(draw));
  list.addEventListener("click", (event) => { const entry = event.target.closest(".entry"); if (entry?.dataset.at !== undefined) go(Number(entry.dataset.at)); });
  addEventListener("resize", draw);
  addEventListener("hashchange", () => { recall(); ask(); });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target === byId("words");
    if (event.key === "Escape") { byId("words").blur(); list.focus(); return; }
    if (isTyping || event.target instanceof HTMLSelectElement) return;
    const ways = [...document.querySelectorAll("input[name=way]")];
    if (event.key === "/") byId("words").focus();
    else if (event.key === "j" || (event.key === "ArrowDown" && event.target === list)) go(place + 1);
    else if (event.key === "k" || (event.key === "ArrowUp" && event.target === list)) go(place - 1);
    else if (event.key === "Home" && event.target === list) go(0);
    else if (event.key === "End" && event.target === list) go(matched - 1);
    else if (ways[Number(event.key) - 1] && /^[1-9]$/.test(event.key)) ways[Number(event.key) - 1].click();
    else return;
    event.preventDefault();
  });
  // What is still being written is looked at again; a finished run never changes.
  const look = async () => {
    try { const found = await fetchJson("version.json", {}); if (version && found.version !== version) await Promise.all([ask({ keep: true }), showResult()]); if (found.is_live) setTimeout(look, 3000); } catch { setTimeout(look, 8000); }
  };
  const showResult = async () => {
    const found = await fetchJson("result.json", {});
    byId("result").replaceChildren(...(found.number ? [element("strong", found.number), " "] : []), visible(found.note));
  };
  recall();
  ask().then(showResult).catch(() => {}).finally(look);
})();
