// The token of the printed address (?token=...), which every request for data has in its header. It is kept for this
// origin, port included, so that links without it open too.
const KEY = "rote-explorer-token";
let given = null; // from the address, until it is kept

// Out of the address bar at once: what is copied from there is for others too.
export function enter() {
  const address = new URL(location.href);
  given = address.searchParams.get("token");
  if (given === null) return;
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}

// The server took it.
export function remember() {
  if (given === null) return;
  try {
    localStorage.setItem(KEY, given);
    given = null;
  } catch {
    // A browser that keeps nothing: this page has it until it is left.
  }
}

export function credentials() {
  const token = given ?? kept();
  return token ? { authorization: `Bearer ${encodeURIComponent(token)}` } : {};
}

function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
