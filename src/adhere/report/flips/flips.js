"use strict";
(() => {
  const filter = document.getElementById("filter");
  if (filter === null) return;
  const cards = [...document.querySelectorAll(".flip")];
  const show = () => {
    const wanted = filter.value.trim().toLowerCase();
    const way = document.querySelector("input[name=way]:checked").value;
    let shown = 0;
    for (const card of cards) {
      card.hidden = !card.dataset.words.includes(wanted) || (way !== "" && card.dataset.way !== way);
      if (!card.hidden) shown += 1;
    }
    document.getElementById("shown").textContent = `${shown} of ${cards.length}`;
  };
  filter.addEventListener("input", show);
  for (const radio of document.querySelectorAll("input[name=way]")) radio.addEventListener("change", show);
  for (const button of document.querySelectorAll("button[data-kind]")) {
    button.addEventListener("click", () => {
      filter.value = filter.value === button.dataset.kind ? "" : button.dataset.kind;
      show();
    });
  }
  show();
})();
