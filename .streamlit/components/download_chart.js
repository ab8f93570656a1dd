// Saves the chart of the container whose key is data.chart, as it is shown, in the page's font.
const SVG = "http://www.w3.org/2000/svg";
let faces;  // the page's text font as a data URL, fetched once
function face(family) {
  return faces ??= (async () => {
    for (const sheet of document.styleSheets) {
      let rules; try { rules = sheet.cssRules; } catch { continue; }
      for (const rule of rules) {
        if (!(rule instanceof CSSFontFaceRule) || rule.style.fontStyle === "italic") continue;
        if (rule.style.fontFamily.replaceAll('"', "") !== family) continue;
        const url = /url\("?([^")]+)"?\)/.exec(rule.style.src)?.[1];
        if (!url) continue;
        const blob = await (await fetch(new URL(url, sheet.href ?? document.baseURI))).blob();
        const data = await new Promise((resolve) => {
          const reader = new FileReader(); reader.onload = () => resolve(reader.result); reader.readAsDataURL(blob);
        });
        return `@font-face{font-family:"${family}";font-weight:200 900;src:url(${data})}`;
      }
    }
    return "";
  })();
}
function standalone(shown, background) {
  const svg = shown.cloneNode(true);
  const { width, height } = shown.viewBox.baseVal;
  for (const [name, value] of Object.entries({ xmlns: SVG, width, height })) svg.setAttribute(name, value);
  svg.removeAttribute("style");
  svg.removeAttribute("class");
  for (const painted of svg.querySelectorAll("[fill*='#']")) {  // by a gradient, which Vega names by the page's address
    painted.setAttribute("fill", painted.getAttribute("fill").replace(/url\(.*#/, "url(#"));
  }
  const rect = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ width, height, fill: background })) rect.setAttribute(name, value);
  svg.prepend(rect);
  return { svg, width, height };
}
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
export default function ({ parentElement, data }) {
  const css = () => getComputedStyle(parentElement.host);
  for (const button of parentElement.querySelectorAll("button")) {
    const type = button.dataset.type;
    button.setAttribute("aria-label", `Download ${data.what} as ${type.toUpperCase()}`);
    button.title = `Download as ${type.toUpperCase()}`;
    button.onclick = async () => {
      const shown = document.querySelector(`.st-key-${data.chart} svg.marks`);
      if (!shown) return;
      const { svg, width, height } = standalone(shown, css().getPropertyValue("--st-background-color").trim());
      const text = () => new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
      if (type === "svg") { save(text(), `${data.name}.svg`); return; }
      const style = document.createElementNS(SVG, "style");
      style.textContent = await face(css().getPropertyValue("--st-font").split(",")[0].replaceAll('"', "").trim());
      svg.prepend(style);
      const image = new Image(width, height);
      image.src = URL.createObjectURL(text());
      await image.decode();
      const canvas = document.createElement("canvas");
      const scale = Math.max(2, window.devicePixelRatio || 1, 2000 / width);
      canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      URL.revokeObjectURL(image.src);
      canvas.toBlob((blob) => save(blob, `${data.name}.png`), "image/png");
    };
  }
}
