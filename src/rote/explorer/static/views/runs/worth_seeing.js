// What to compare when nothing was chosen: those that are going on, else trainings of one recipe.

const NO_CURVES = ["study", "measurement"]; // parts that train nothing

// The ids of some of these runs, newest first in the list; at most so many.
export function worthSeeing(runs, most) {
  const trained = [...runs].filter((run) => !NO_CURVES.includes(run.part)).sort((a, b) => b.started.localeCompare(a.started));
  const going = trained.filter((run) => run.status === "running");
  if (going.length) return going.slice(0, most).map((run) => run.id);
  const groups = new Map();
  for (const run of trained.filter((one) => one.status === "finished")) {
    const name = JSON.stringify([run.study, run.part, run.preset]);
    groups.set(name, [...(groups.get(name) || []), run.id]);
  }
  const all = [...groups.values()];
  const several = all.find((ids) => ids.length > 1);
  return (several || all.slice(0, 4).flat()).slice(0, most); // of one recipe, else of several
}
