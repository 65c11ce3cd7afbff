import { createHash } from "node:crypto";
import { printableText } from "@wirescope/channelz/internal";

/** Escaped HTML. */
export interface Html {
  readonly markup: string;
}

type Part = Html | string | number | readonly Html[];

/** Creates HTML from a template. Interpolated values are escaped, unless they are `Html`. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let markup = pieces[0] ?? "";
  for (const [index, part] of parts.entries()) markup += markupOf(part) + (pieces[index + 1] ?? "");
  return { markup };
}

function markupOf(part: Part): string {
  if (Array.isArray(part)) return part.map(({ markup }: Html) => markup).join("");
  if (typeof part === "object") return (part as Html).markup;
  return printableText(String(part)).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const style = `
:root{color-scheme:light dark;--line:#8884;--soft:#8882;--good:#1a7f37;--bad:#cf222e;--wait:#9a6700}
@media (prefers-color-scheme:dark){:root{--good:#3fb950;--bad:#ff7b72;--wait:#d29922}}
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2.5rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:0 0 1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0}
dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}
code{font:13px/1.5 ui-monospace,monospace;background:var(--soft);padding:.1em .35em;border-radius:.3em;overflow-wrap:anywhere}
section{border:1px solid var(--line);border-radius:.6rem;padding:.9rem 1.1rem;margin:1rem 0}
section h2{font-size:1.05rem;margin:0 0 .5rem;display:flex;gap:.7rem;align-items:baseline;flex-wrap:wrap}
.state{font-size:.8rem;font-weight:600}.READY{color:var(--good)}.TRANSIENT_FAILURE{color:var(--bad)}.CONNECTING,.IDLE{color:var(--wait)}
.todo{background:var(--soft);border-radius:.4rem;padding:.5rem .8rem;margin:.6rem 0}
.todo a{font-weight:600}
ol{margin:.5rem 0 0;padding:0;list-style:none;font-size:.87rem}
ol li{display:grid;grid-template-columns:6rem 1fr;gap:.7rem;padding:.12rem 0;overflow-wrap:anywhere}
time,footer{opacity:.7}footer{font-size:.87rem;margin-top:2rem}
`;
const styleHash = createHash("sha256").update(style).digest("base64");

/** The headers of every page: no scripts, no external resources, no caching, no referrer. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

/** A whole page. `head` is added to its `<head>`, such as a `<meta http-equiv="refresh">`. */
export function pageOf(title: string, body: Html, head: Html = html``): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}
<title>${title}</title><style>${{ markup: style }}</style></head>
<body>${body}</body></html>
`.markup;
}
