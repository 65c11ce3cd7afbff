import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type ConsentPage, type HostileAuthorizationServer, startHostileAuthorizationServer } from "@wirescope/quirks";
import { type DemoRefusal, type HttpToolServer, startHttpToolServer } from "./http-tool-server.js";

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}
button{font:inherit;padding:.5rem 1rem;margin-right:.5rem}`;
const styleHash = createHash("sha256").update(style).digest("base64");

/** The page on which a person allows a sign-in. The requested scopes are escaped. */
const consentPage: ConsentPage = {
  headers: {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`,
  },
  render(request: URLSearchParams): string {
    const scopes = (request.get("scope") ?? "").split(" ").filter((scope) => scope !== "");
    return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in to the demonstration</title><style>${style}</style></head>
<body><h1>Sign in to the demonstration</h1>
<p>Wirescope asks for access to the notes, with these scopes:</p>
<ul>${scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join("")}</ul>
<form method="post"><button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></form>
</body></html>
`;
  },
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The lifetime of an access token: short, so that a refresh can be observed. */
const lifetimeS = 120;

/** The authorization server of the demonstration: it signs in everyone who presses the button. */
export async function startDemoAuthorizationServer(): Promise<HostileAuthorizationServer> {
  const server = await startHostileAuthorizationServer({
    scopes: ["notes:read", "notes:write"],
    consentPage,
    maxRequests: 0,
  });
  server.lifetimeS = lifetimeS;
  return server;
}

/** A server behind OAuth: reading requires one scope, writing one more. */
export function startNotesServer(
  authorization: Pick<HostileAuthorizationServer, "issuer" | "scopesOf">,
): Promise<HttpToolServer> {
  const notes: string[] = ["Buy a kite."];
  let metadata = "";
  const challenge = (error: string, scope: string): string =>
    `Bearer error="${error}", scope="${scope}", resource_metadata="${metadata}"`;

  const refuse = ({ headers }: IncomingMessage, body: string): DemoRefusal | undefined => {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
    const scopes = authorization.scopesOf(token);
    if (scopes === undefined) return { status: 401, challenge: challenge("invalid_token", "notes:read") };
    const needed = body.includes('"add"') ? "notes:write" : "notes:read";
    return scopes.includes(needed)
      ? undefined
      : { status: 403, challenge: challenge("insufficient_scope", `notes:read ${needed}`) };
  };
  return startHttpToolServer({
    name: "notes",
    tools: [
      { name: "list", description: "Lists the notes", parameters: [], call: () => notes.join("\n") },
      {
        name: "add",
        description: "Adds a note; requires one more scope",
        parameters: ["text"],
        call: ({ text }) => {
          notes.push(String(text).slice(0, 200));
          notes.splice(0, notes.length - 20);
          return `There are ${notes.length} notes.`;
        },
      },
    ],
    refuse,
    documents: (origin) => {
      metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      const document = {
        resource: `${origin}/mcp`,
        authorization_servers: [authorization.issuer],
        scopes_supported: ["notes:read"],
      };
      return { "/.well-known/oauth-protected-resource/mcp": document };
    },
  });
}
