// The running networks: what is asked of the server, and the frames that it answers with.
import { gone } from "./api.js";

// BASE: where the routes are; looking(): what is shown in detail, as the routes take it; open: the job and what is shown
// of it; decode(frame): make a frame ready to be drawn; shown(): there is another frame; told(): playing began or ended;
// remember(): write the address; spoken(): the state in words; waits(on): what is shown is older than what was asked for.
export function training(BASE, context, settings, open, past, { looking, decode, shown, told, remember, spoken, waits }) {
  const post = (route, body) => context.api.post(`${BASE}/${route}`, { look: looking(), ...body });

  // New networks; up to a step in portions that grow, so that the curves have a past.
  async function begin(until = 0) {
    stopPlaying();
    try {
      const answer = await post("start", { settings });
      if (open.gone) return leave(answer.job);
      Object.assign(open, { job: answer.job, version: 0, changes: [], frame: null });
      past.clear();
      take(answer);
      for (let at = 0; at < until && !open.gone; ) {
        const updates = Math.min(until - at, Math.max(1, Math.ceil(at / 6)));
        take(await post("step", { job: open.job, updates }));
        at += updates;
      }
    } catch (error) {
      if (!open.gone) context.fail(error);
    }
    return null;
  }

  // In a file: what was there when it was written. Training needs a server.
  async function recall() {
    try {
      const kept = await context.api.post(`${BASE}/past`, {});
      open.job = "recorded";
      open.changes = kept.changes;
      kept.frames.forEach((frame) => take({ ...kept, frame }));
    } catch (error) {
      context.fail(error);
    }
  }

  // A request about the running job; one that has ended meanwhile is begun again.
  async function ask(route, body) {
    try {
      if (!open.job) throw Object.assign(new Error("not begun"), { status: 404 });
      return await post(route, { job: open.job, ...body });
    } catch (error) {
      if (error.status === 404 && !open.gone) {
        await begin();
        context.announce("The networks had ended and were started again.");
      } else context.fail(error);
      return null;
    }
  }

  // Only one change is under way; of those that come meanwhile the newest counts.
  let changing = false;
  let waiting = false;
  async function change() {
    remember();
    waiting = true;
    if (changing) return;
    changing = true;
    waits(true);
    while (waiting) {
      waiting = false;
      const answer = await ask("change", { settings });
      if (answer && answer.restarted) {
        past.clear();
        open.changes = [];
      } else if (answer && answer.frame.step > 0) open.changes.push(answer.frame.step);
      if (answer) take(answer);
    }
    waits(false);
    changing = false;
  }

  async function play() {
    if (open.playing) return;
    open.playing = true;
    open.back = null;
    told();
    const mine = (open.plays += 1);
    try {
      if (!open.job) await begin();
      open.playing = true;
      told();
      for await (const frame of context.api.stream(`${BASE}/play`, { job: open.job, updates: open.speed, look: looking() })) {
        if (open.gone) break;
        if (mine === open.plays) take({ frame }); // else the server is about to end this stream: to cut it off would end the job
      }
      if (mine === open.plays && !open.gone) throw gone(); // nobody paused it: the server has ended
    } catch (error) {
      if (error.status === 404) await begin();
      else if (!open.gone) context.fail(error);
    }
    if (mine === open.plays) stopPlaying();
  }

  function stopPlaying() {
    open.playing = false;
    told();
  }

  async function pause() {
    if (!open.playing) return;
    open.plays += 1;
    stopPlaying();
    const answer = await ask("pause", {});
    if (answer) take(answer);
    remember();
    context.announce(spoken());
  }

  // While it plays, another speed or another network in focus: the stream begins anew.
  function playAnew() {
    if (!open.playing) return;
    open.plays += 1;
    open.playing = false;
    play();
  }

  async function step() {
    if (open.playing) return pause();
    open.back = null;
    const answer = await ask("step", { updates: open.speed });
    if (answer) take(answer);
    remember();
    return context.announce(spoken());
  }

  async function reset() {
    const again = open.playing;
    if (again) {
      open.plays += 1;
      stopPlaying();
      await ask("pause", {});
    }
    context.clear?.();
    open.back = null;
    past.clear();
    open.changes = [];
    const answer = await ask("reset", {});
    if (answer) take(answer);
    remember();
    if (again) play();
    else context.announce("Reset to step 0.");
  }

  function leave(job = open.job) {
    if (job) context.api.send(`${BASE}/stop`, { job });
  }

  function take({ frame, points, task }) {
    if (frame.version < open.version || (frame.version === open.version && open.frame && frame.step < open.frame.step)) return;
    if (open.frame && frame.version > open.version && frame.step < open.frame.step) past.clear();
    decode(frame);
    open.version = frame.version;
    open.frame = frame;
    if (points) open.points = points;
    if (task) open.task = task;
    past.add(frame);
    shown();
  }

  // The same networks, something else of them in detail.
  async function lookAgain() {
    remember();
    if (open.playing) return playAnew();
    waits(true);
    const answer = await ask("step", { updates: 0 });
    if (answer) take(answer);
    waits(changing);
    return null;
  }

  return { begin, recall, change, play, pause, playAnew, step, reset, leave, lookAgain, ask };
}
