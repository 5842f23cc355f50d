// Draws each figure when it comes near the screen, on the reader's light or dark paper, and again when that changes.
(() => {
  "use strict";
  const themes = JSON.parse(document.getElementById("themes").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();

  // ast: expressions are interpreted, not compiled, so the page needs no permission to evaluate code.
  const options = () => ({
    actions: false,
    ast: true,
    config: themes[dark.matches ? "dark" : "light"],
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true, theme: dark.matches ? "dark" : "light" },
  });

  async function embed(place) {
    const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    try {
      const result = await window.vegaEmbed(place, spec, options());
      drawn.get(place)?.finalize();
      drawn.set(place, result);
      place.dataset.state = "drawn";
    } catch (error) {
      // The still picture takes its place.
      place.dataset.state = "failed";
      console.error(`Figure ${place.dataset.spec}:`, error);
    }
  }

  // One drawing at a time in each place, so that the last one asked for is the one that stays.
  const queues = new Map();
  function draw(place) {
    queues.set(place, (queues.get(place) ?? Promise.resolve()).then(() => embed(place)));
  }

  // Room for each figure before it is drawn. A small one may shrink to a narrow screen; a wide one scrolls in its box,
  // so that its text stays legible.
  const places = document.querySelectorAll(".live");
  for (const place of places) {
    const { width, height } = place.dataset;
    if (Number(width) <= 480) {
      place.classList.add("shrinks");
      place.style.aspectRatio = `${width} / ${height}`;
      place.style.maxWidth = `${width}px`;
    } else {
      place.style.minWidth = `${width}px`;
      place.style.minHeight = `${height}px`;
    }
  }

  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        draw(entry.target);
      }
    },
    { rootMargin: "600px" },
  );
  places.forEach((place) => near.observe(place));
  dark.addEventListener("change", () => [...queues.keys()].forEach(draw));
})();
