// Copy buttons, the contents on a narrow screen, and everything unfolded for print.
(() => {
  "use strict";

  async function copy(text, element) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // No clipboard without permission: select the text and use the older command.
      const range = document.createRange();
      range.selectNodeContents(element);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      document.execCommand("copy");
    }
  }

  for (const button of document.querySelectorAll("button.copy")) {
    const label = [...button.childNodes];
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      await copy(code.textContent, code);
      button.textContent = button.dataset.done;
      setTimeout(() => button.replaceChildren(...label), 1600);
    });
  }

  const contents = document.querySelector(".contents details");
  const wide = window.matchMedia("(min-width: 75rem)");
  const fold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();

  // A link to something inside a closed <details> opens it.
  function unfoldTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target?.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  }
  window.addEventListener("hashchange", unfoldTarget);
  unfoldTarget();

  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("main details:not([open])")];
    closed.forEach((box) => { box.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((box) => { box.open = false; }));
})();
