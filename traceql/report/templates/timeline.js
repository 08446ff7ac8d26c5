/* The timeline: lanes of binned cells on a canvas. Times are ns since the window's
   start. A level is drawn once its cells are wide enough to be seen. */
(() => {
  "use strict";
  const LANE = 22, STEP = 18, AXIS = 20, GAP = 3, MIN_SPAN = 1000, MIN_CELL = 2;
  const KNOWN = ["compute", "communication", "graph", "copy_h2d", "copy_d2h", "copy_d2d",
    "copy_p2p", "memset"];
  const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const time = (ns, step = Math.abs(ns)) => {
    const [factor, unit] = UNITS.find(([f]) => step >= f) ?? UNITS[3];
    return `${+(ns / factor).toPrecision(6)} ${unit}`;
  };
  const niceStep = (rough) => {
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].find((m) => m * power >= rough) * power;
  };

  const make = (root) => {
    const data = JSON.parse(document.getElementById(root.dataset.timeline).textContent);
    root.hidden = false;
    const canvas = root.querySelector("canvas"), live = root.querySelector("[aria-live]");
    const pen = canvas.getContext("2d");
    const tip = document.createElement("div");
    tip.className = "tip";
    document.body.append(tip);
    const lanes = data.lanes.length, stepsHeight = data.steps.length ? STEP + GAP : 0;
    /* Where the focus is a small part of the capture the view begins there. */
    const { focus } = data, small = focus.end - focus.start < 0.6 * data.span;
    const view = small ? { start: focus.start, end: focus.end } : { start: 0, end: data.span };
    /* On a narrow page labels stand above their lanes, not beside them. */
    let width = 0, left = 0, label = 0, height = 0;
    const colours = {};
    const level = data.levels.map((l) => ({
      ...l, width: l.cells.length ? Math.max(...l.cells.map((c) => c[2])) : Infinity,
      byLane: Array.from({ length: lanes }, (_, i) => l.cells.filter((c) => c[0] === i)),
    }));

    const x = (t) => left + ((t - view.start) / (view.end - view.start)) * (width - left);
    const at = (px) => view.start + ((px - left) / (width - left)) * (view.end - view.start);
    const laneY = (i) => AXIS + stepsHeight + i * (LANE + GAP + label) + label;

    const colour = (index) => {
      const name = data.activities[index];
      return colours[KNOWN.includes(name) ? name : "copy_other"];
    };
    const readColours = () => {
      const style = getComputedStyle(document.documentElement);
      for (const name of [...KNOWN, "copy_other", "page", "panel", "line", "text", "muted", "step", "alert"]) {
        colours[name] = style.getPropertyValue(`--${name}`).trim();
      }
    };

    /* The cells of a lane that are seen now, the finer level where it is wide enough. */
    const seen = (lane) => {
      const [coarse, fine] = level;
      const useFine = fine && (fine.width * (width - left)) / (view.end - view.start) >= MIN_CELL;
      const hit = (c) => c[1] < view.end && c[1] + c[2] > view.start;
      if (!useFine) return coarse.byLane[lane].filter(hit);
      const outside = (c) => c[1] + c[2] <= fine.start || c[1] >= fine.end;
      return [...coarse.byLane[lane].filter((c) => outside(c) && hit(c)), ...fine.byLane[lane].filter(hit)];
    };

    const draw = () => {
      const ratio = window.devicePixelRatio || 1;
      width = canvas.clientWidth;
      if (!width) return;
      [left, label] = width < 500 ? [0, 15] : [150, 0];
      height = AXIS + stepsHeight + lanes * (LANE + GAP + label) + 4;
      canvas.style.height = `${height}px`;
      canvas.height = Math.round(height * ratio);
      canvas.width = Math.round(width * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.fillStyle = colours.page;
      pen.fillRect(0, 0, width, height);
      pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
      pen.textBaseline = "middle";
      pen.save();
      pen.beginPath();
      pen.rect(left, 0, width - left, height);
      pen.clip();
      const step = niceStep(((view.end - view.start) * 110) / (width - left));
      for (let t = Math.ceil(view.start / step) * step; t <= view.end; t += step) {
        pen.fillStyle = colours.line;
        pen.fillRect(x(t), AXIS - 4, 1, height);
        pen.fillStyle = colours.muted;
        pen.fillText(time(t, Math.max(step, Math.abs(view.end) / 1000)), x(t) + 3, AXIS / 2);
      }
      data.steps.forEach(([name, start, wall, slow]) => {
        const from = x(start), to = x(start + wall);
        if (to < left || from > width) return;
        pen.fillStyle = slow ? colours.alert : colours.step;
        pen.fillRect(from, AXIS, Math.max(to - from - 1, 1), STEP);
        if (to - from > 40) {
          pen.save();
          pen.beginPath();
          pen.rect(from, AXIS, to - from - 4, STEP);
          pen.clip();
          pen.fillStyle = colours.page;
          pen.fillText(name, Math.max(from, left) + 4, AXIS + STEP / 2);
          pen.restore();
        }
      });
      for (let i = 0; i < lanes; i += 1) {
        const y = laneY(i);
        pen.fillStyle = colours.panel;
        pen.fillRect(left, y, width - left, LANE);
        for (const [, start, wide, share, activity] of seen(i)) {
          const from = x(start), tall = Math.max((share / 1000) * LANE, 1.5);
          pen.fillStyle = colour(activity);
          pen.fillRect(from, y + LANE - tall, Math.max(x(start + wide) - from, 1), tall);
        }
        if (!left) {
          pen.fillStyle = colours.text;
          pen.fillText(data.lanes[i], 3, y - label / 2);
        }
      }
      pen.restore();
      if (left) {
        pen.fillStyle = colours.text;
        data.lanes.forEach((name, i) => pen.fillText(name, 4, laneY(i) + LANE / 2, left - 10));
        if (stepsHeight) pen.fillText("Iterations", 4, AXIS + STEP / 2, left - 10);
      }
      root.dataset.view = `${Math.round(view.start)} ${Math.round(view.end)}`;
    };

    const show = (start, end, spoken = true) => {
      const span = Math.min(Math.max(end - start, Math.min(MIN_SPAN, data.span)), data.span);
      view.start = Math.min(Math.max(start, 0), data.span - span);
      view.end = view.start + span;
      draw();
      if (spoken) live.textContent = `${time(view.start)} to ${time(view.end)}`;
    };
    const zoom = (factor, centre = (view.start + view.end) / 2, spoken = true) =>
      show(centre - (centre - view.start) * factor, centre + (view.end - centre) * factor, spoken);
    const move = (share) => {
      const by = (view.end - view.start) * share;
      show(view.start + by, view.end + by);
    };
    const acts = {
      in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.25),
      right: () => move(0.25), all: () => show(0, data.span),
    };
    const keys = { "+": "in", "=": "in", "-": "out", _: "out", ArrowLeft: "left",
      ArrowRight: "right", ArrowUp: "in", ArrowDown: "out", 0: "all", Home: "all" };
    canvas.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[act]();
    });
    root.querySelectorAll("[data-do]").forEach((button) =>
      button.addEventListener("click", acts[button.dataset.do]));

    /* Only with Ctrl does the wheel zoom: the page must stay free to scroll. */
    canvas.addEventListener("wheel", (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!event.ctrlKey && !sideways) return;
      event.preventDefault();
      if (sideways) move(event.deltaX / 800);
      else zoom(1.0015 ** event.deltaY, at(event.offsetX), false);
    }, { passive: false });

    const held = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, event.offsetX);
      canvas.setPointerCapture(event.pointerId);
    });
    const release = (event) => held.delete(event.pointerId);
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (before === undefined) return hover(event);
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
      if (other === undefined) {
        const by = at(before) - at(event.offsetX);
        show(view.start + by, view.end + by, false);
      } else if (Math.abs(event.offsetX - other) > 8) {
        zoom(Math.abs(before - other) / Math.abs(event.offsetX - other), at(other), false);
      }
      held.set(event.pointerId, event.offsetX);
    });
    canvas.addEventListener("dblclick", (event) => zoom(0.25, at(event.offsetX)));
    canvas.addEventListener("pointerleave", () => tip.classList.remove("visible"));

    const hover = (event) => {
      const t = at(event.offsetX), row = event.offsetY - AXIS - stepsHeight;
      let text = "";
      if (stepsHeight && event.offsetY > AXIS && row < 0) {
        const hit = data.steps.find(([, start, wall]) => t >= start && t < start + wall);
        if (hit) text = `${hit[0]}: ${time(hit[2])}${hit[3] ? " (slow)" : ""}`;
      } else if (row >= 0) {
        const lane = Math.floor(row / (LANE + GAP + label));
        const hit = lane < lanes && seen(lane).find((c) => t >= c[1] && t < c[1] + c[2]);
        if (hit) {
          text = `${data.lanes[lane]}: busy ${hit[3] / 10} % of ${time(hit[2])} at ${time(hit[1])}` +
            `, mostly ${data.activities[hit[4]].replace(/_/g, " ")}`;
        }
      }
      tip.textContent = text;
      tip.classList.toggle("visible", text !== "");
      tip.style.left = `${Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${event.clientY + 16}px`;
    };

    readColours();
    draw();
    new ResizeObserver(draw).observe(canvas);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      readColours();
      draw();
    });
  };
  document.querySelectorAll("[data-timeline]").forEach(make);
})();
