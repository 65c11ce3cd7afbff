import type { IncomingMessage } from "node:http";
import type { DemoAuthorizationServer } from "./authorization-server.js";
import { type HttpToolServer, type Refusal, startHttpToolServer } from "./http-tool-server.js";

/** A server behind OAuth: to read asks for one permission, to write for one more. */
export function startNotesServer(authorization: DemoAuthorizationServer): Promise<HttpToolServer> {
  const notes: string[] = ["Buy a kite."];
  let metadata = "";
  const challenge = (error: string, scope: string): string =>
    `Bearer error="${error}", scope="${scope}", resource_metadata="${metadata}"`;

  const judge = ({ headers }: IncomingMessage, body: string): Refusal | undefined => {
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
        description: "Adds a note; asks for one more permission",
        parameters: ["text"],
        call: ({ text }) => {
          notes.push(String(text).slice(0, 200));
          notes.splice(0, notes.length - 20);
          return `There are ${notes.length} notes.`;
        },
      },
    ],
    judge,
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
