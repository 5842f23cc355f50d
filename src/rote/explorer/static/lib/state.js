// The permalink: #/connectivity?text=the&models=gru,lstm. Values are strings; an empty one is left out.

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { name: path, values: Object.fromEntries(new URLSearchParams(query)) };
}

export function link(name, values) {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString();
  return `#/${name}${query ? `?${query}` : ""}`;
}

// The state of the open view; set() replaces the address without loading anything. moved(address): it is another one.
export function linked(name, moved) {
  let values = parse(location.hash).values;
  moved(link(name, values));
  return {
    get: () => ({ ...values }),
    set(patch) {
      values = { ...values, ...patch };
      values = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "").map(([key, value]) => [key, String(value)]));
      history.replaceState(null, "", link(name, values));
      moved(link(name, values));
    },
  };
}
