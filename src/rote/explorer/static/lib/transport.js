// The buttons of something that is trained: reset, back, play and pause, step.
import { fill, h, svg } from "./dom.js";

const GLYPHS = { play: "M8 5v14l11-7z", pause: "M6 5h4v14H6zm8 0h4v14h-4z", step: "M6 5l9 7-9 7zM16 5h3v14h-3z", back: "M18 5l-9 7 9 7zM5 5h3v14H5z", reset: "M12 5V1L7 6l5 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z" };
const glyph = (path) => svg("svg", { viewBox: "0 0 24 24", width: 20, height: 20, "aria-hidden": "true", fill: "currentColor" }, svg("path", { d: path }));

export function transportOf({ reset, back, toggle, step }) {
  const button = (name, title, onclick) => h("button", { type: "button", class: "round", title, "aria-label": name, onclick }, glyph(GLYPHS[name.toLowerCase()]));
  const play = h("button", { type: "button", class: "round main", onclick: toggle });
  return {
    element: h("div", { class: "buttons", role: "group", "aria-label": "Training" }, button("Reset", "Reset (R)", reset), button("Back", "One frame back (arrow left)", back), play, button("Step", "Step (arrow right)", step)),
    tell(playing) {
      fill(play, glyph(playing ? GLYPHS.pause : GLYPHS.play));
      play.setAttribute("aria-label", playing ? "Pause" : "Play");
      play.title = playing ? "Pause (space)" : "Play (space)";
    },
  };
}
