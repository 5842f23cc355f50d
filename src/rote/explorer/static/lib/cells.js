// A cursor over cells in rows and columns, moved with the pointer or the keys.
//
//   const cursor = cellCursor(frame, { size: () => [rows, columns], find: (event) => [row, column], show, pick });
//
// show(cell): the cell to mark and read out, or null; pick(cell): it was clicked, or Enter was pressed on it.
export function cellCursor(frame, { size, find, show, pick = () => {} }) {
  let at = null;

  function inside(cell) {
    return size().every((count) => count > 0) ? cell.map((value, axis) => Math.max(0, Math.min(size()[axis] - 1, value))) : null;
  }

  function move(cell) {
    at = cell && inside(cell);
    show(at);
  }

  function found(event) {
    const cell = find(event);
    return cell.every((value, axis) => value >= 0 && value < size()[axis]) ? cell : null;
  }

  frame.addEventListener("pointermove", (event) => {
    const cell = found(event);
    if (cell) move(cell);
  });
  frame.addEventListener("click", (event) => {
    const cell = found(event);
    if (cell) pick(cell);
  });
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, column] = at ?? [0, 0];
    const to = {
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      Home: [row, 0], End: [row, size()[1] - 1], PageUp: [row - 10, column], PageDown: [row + 10, column],
    }[event.key];
    if (to) move(at ? to : [0, 0]);
    else if ((event.key === "Enter" || event.key === " ") && at) pick(at);
    else if (event.key === "Escape") move(null);
    else return;
    event.preventDefault();
  });

  return {
    move,
    at: () => at,
    put: (cell) => (at = cell && inside(cell)), // without showing it
  };
}
