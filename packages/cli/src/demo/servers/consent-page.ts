import { createHash } from "node:crypto";

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}
button{font:inherit;padding:.5rem 1rem;margin-right:.5rem}`;
const styleHash = createHash("sha256").update(style).digest("base64");

/** The page on which a person allows a sign-in. Static but for what is asked, which is escaped. */
export const consentPage = {
  headers: {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`,
  },
  render(asked: URLSearchParams): string {
    const scopes = (asked.get("scope") ?? "").split(" ").filter((scope) => scope !== "");
    return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in to the demonstration</title><style>${style}</style></head>
<body><h1>Sign in to the demonstration</h1>
<p>Wirescope asks for access to the notes, with these permissions:</p>
<ul>${scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join("")}</ul>
<form method="post"><button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></form>
</body></html>
`;
  },
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
