import type { LoggedRequest } from "../logged-request.js";
import type { QuirkResponse } from "../quirk-response.js";

const revisions = ["2025-11-25", "2025-06-18", "2025-03-26"];

/** The response of a tool server with one tool, with the handshake of the revisions before 2026-07-28 and without sessions. */
export function handleMessage({ method, json }: LoggedRequest, scopes: readonly string[]): QuirkResponse {
  if (method !== "POST") return [405, "", { allow: "POST" }];
  const { id = 1 } = json;
  const result = (value: unknown): QuirkResponse => [200, { jsonrpc: "2.0", id, result: value }];
  if (typeof json.method !== "string") return result({});
  if (json.id === undefined) return [202, ""];
  switch (json.method) {
    case "initialize":
      return result({
        protocolVersion: revisionOf(json.params),
        capabilities: { tools: {} },
        serverInfo: { name: "wirescope-quirks", version: "1" },
      });
    case "ping":
      return result({});
    case "tools/list":
      return result({
        tools: [{ name: "scopes", description: "Returns the scopes of your token.", inputSchema: { type: "object" } }],
      });
    case "tools/call":
      return result({ content: [{ type: "text", text: scopes.join(" ") }] });
    default:
      return [200, { jsonrpc: "2.0", id, error: { code: -32601, message: `There is no method ${json.method}.` } }];
  }
}

function revisionOf(params: unknown): string {
  const asked =
    typeof params === "object" && params !== null && "protocolVersion" in params ? params.protocolVersion : undefined;
  return revisions.find((revision) => revision === asked) ?? (revisions[0] as string);
}
