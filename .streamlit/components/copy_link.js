// Copies the address of the page.
async function copied(text) {
  if (navigator.clipboard) {
    try { await navigator.clipboard.writeText(text); return true; } catch {}
  }
  const area = document.createElement("textarea");
  area.value = text; area.readOnly = true; area.style.cssText = "position:fixed;top:0;opacity:0";
  document.body.append(area);
  area.select();
  try { return document.execCommand("copy"); } finally { area.remove(); }
}
export default function ({ parentElement }) {
  const button = parentElement.querySelector("button");
  const label = button.querySelector("span");
  const status = parentElement.querySelector("[role=status]");
  const tab = document.querySelector("[role=tab][aria-selected=true]");  // a link may open one that is out of sight
  const bar = tab?.closest("[role=tablist]");
  if (bar) bar.scrollLeft = Math.max(bar.scrollLeft, tab.offsetLeft + tab.offsetWidth - bar.clientWidth);
  let timer;
  button.onclick = async () => {
    const done = await copied(window.location.href);
    button.focus();
    label.textContent = done ? "Copied" : "Not copied";
    status.textContent = done ? "Link copied" : "The browser refused; copy the address bar instead";
    clearTimeout(timer);
    timer = setTimeout(() => { label.textContent = "Copy link"; status.textContent = ""; }, 2000);
  };
  return () => clearTimeout(timer);
}
