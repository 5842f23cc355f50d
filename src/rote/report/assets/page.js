// Copy buttons, the contents on a narrow screen, and what is folded unfolded for print, long tables excepted.
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

  // A box takes the keyboard's focus only while there is something to scroll to in it.
  const boxes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      if (scrolls) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(".scroll").forEach((box) => boxes.observe(box));

  // A link to something inside a closed <details> opens it.
  function unfoldTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target?.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  }
  window.addEventListener("hashchange", unfoldTarget);
  unfoldTarget();

  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("main details:not([open])")].filter((box) => box.classList.contains("folded") || box.querySelectorAll("tr").length < 40);
    closed.forEach((box) => { box.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((box) => { box.open = false; }));
})();
