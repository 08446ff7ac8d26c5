/* Draws the Vega-Lite charts in the colours of the page's scheme. */
(() => {
  "use strict";
  const style = () => getComputedStyle(document.documentElement);
  // "var(--name)" in a specification stands for the colour of report.css.
  const coloured = (spec, colours) => JSON.parse(JSON.stringify(spec), (key, value) => {
    const name = typeof value === "string" && /^var\((--[\w-]+)\)$/.exec(value);
    return name ? colours.getPropertyValue(name[1]).trim() : value;
  });
  const config = (colours) => {
    const of = (name) => colours.getPropertyValue(name).trim();
    const words = { labelColor: of("--text"), titleColor: of("--muted"), titleFontWeight: 400 };
    return {
      background: null,
      font: getComputedStyle(document.body).fontFamily,
      view: { stroke: null },
      axis: { ...words, gridColor: of("--line"), domainColor: of("--line"),
        tickColor: of("--line"), labelFontSize: 12, titleFontSize: 12 },
      legend: { ...words, labelFontSize: 12 },
      header: { ...words, labelFontSize: 12 },
    };
  };
  let views = [];
  const draw = async () => {
    for (const view of views) view.finalize();
    views = [];
    const colours = style();
    for (const box of document.querySelectorAll(".chart")) {
      // Values stay as they are: a kernel may be called "var(--x)".
      const { data, ...spec } = JSON.parse(document.getElementById(box.dataset.spec).textContent);
      const full = { ...coloured(spec, colours), data };
      fit(full, box.clientWidth);
      try {
        const drawn = await window.vegaEmbed(box, full, {
          ast: true, actions: false, renderer: "svg", defaultStyle: false,
          config: config(colours), tooltip: { disableDefaultStyle: true },
        });
        views.push(drawn);
        box.dataset.drawn = "yes";
      } catch (error) {
        console.error(error);
      }
    }
  };
  // Charts of rows grow with them: "usermeta" names the field that tells rows apart.
  // Facets do not take "container" as width, and labels must leave room on a phone.
  const fit = (spec, width) => {
    const narrow = width < 600, { row_field: field, row_step: step } = spec.usermeta ?? {};
    if (field) spec.height = new Set(spec.data.values.map((row) => row[field])).size * step;
    if (spec.spec) spec.spec.width = Math.max(width - 60, 120);
    const legend = (spec.encoding ?? spec.spec?.encoding)?.color?.legend;
    if (legend && narrow) legend.columns = 2;
    const axis = spec.encoding?.y?.axis;
    if (axis?.labelLimit) axis.labelLimit = narrow ? 130 : Math.max(220, width * 0.35);
  };
  draw();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = window.innerWidth, timer = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(draw, 150);
  });
})();
