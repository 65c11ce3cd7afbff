import { createHash } from "node:crypto";

const style = "body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:32rem;padding:0 1rem}";

/** A page, and the headers that keep it from being anything else. */
export interface CallbackPage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The page that a browser is shown at the end of a sign-in. It runs no script, loads nothing, and says nothing that a peer sent. */
export function callbackPage(heading: string, text: string): CallbackPage {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escapeHtml(heading)}</title>
<style>${style}</style>
<h1>${escapeHtml(heading)}</h1>
<p>${escapeHtml(text)}</p>
</html>
`;
  const hash = createHash("sha256").update(style).digest("base64");
  return {
    html,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-length": String(Buffer.byteLength(html)),
      "content-security-policy": `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      connection: "close",
    },
  };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
