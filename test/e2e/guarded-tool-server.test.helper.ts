import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  type OAuthMetadata,
  oauthMetadataResponse,
  requireBearerAuth,
} from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { RealAuthorizationServer } from "./real-authorization-server.test.helper.js";

/** A tool server built with the official SDK, which verifies tokens. Ends with the test. */
export interface GuardedToolServer {
  readonly url: string;
  /** The access tokens that it received, each once. */
  readonly seen: ReadonlySet<string>;
  /** How many requests it refused. */
  readonly refusals: number;
  /** From now on, every request except for `write` needs this scope. */
  requireScope(scope: string): void;
}

/** `read` requires the scope notes:read, and `write` notes:write. `prepare` extends the server. */
export async function startGuardedToolServer(
  authorization: RealAuthorizationServer,
  prepare: (server: McpServer) => void = () => {},
): Promise<GuardedToolServer> {
  const metadata = await fetch(`${authorization.issuer}/.well-known/openid-configuration`);
  const oauthMetadata = (await metadata.json()) as OAuthMetadata;
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const seen = new Set<string>();
  let refusals = 0;

  const handler = createMcpHandler(() => {
    const notes = new McpServer({ name: "notes", version: "3.1.0" });
    notes.registerTool("read", { description: "Reads a note." }, () => textOf("milk, eggs"));
    notes.registerTool("write", { description: "Writes a note.", inputSchema: z.object({ text: z.string() }) }, () =>
      textOf("written"),
    );
    prepare(notes);
    return notes;
  });
  const verifier = {
    async verifyAccessToken(token: string) {
      seen.add(token);
      const found = await authorization.find(token);
      if (found === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, "The token is not valid.");
      return { token, clientId: found.clientId, scopes: [...found.scopes], expiresAt: found.expiresAt };
    },
  };
  const gateFor = (scope: string) =>
    requireBearerAuth({
      verifier,
      requiredScopes: [scope],
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
    });
  let reading = gateFor("notes:read");
  const writing = gateFor("notes:write");

  const listener = toNodeHandler({
    async fetch(request: Request) {
      const document = oauthMetadataResponse(request, {
        oauthMetadata,
        resourceServerUrl: url,
        scopesSupported: ["notes:read"],
      });
      if (document !== undefined) return document;
      const message = request.method === "POST" ? await request.clone().text() : "";
      const authInfo = await (/"name":"write"/.test(message) ? writing : reading)(request);
      if (!(authInfo instanceof Response)) return handler.fetch(request, { authInfo });
      refusals += 1;
      return authInfo;
    },
  });
  server.on("request", listener as unknown as RequestListener);
  onTestFinished(async () => {
    await handler.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: url.href,
    seen,
    get refusals() {
      return refusals;
    },
    requireScope(scope) {
      reading = gateFor(scope);
    },
  };
}

function textOf(text: string) {
  return { content: [{ type: "text" as const, text }] };
}
