import type { OAuthEvent } from "../../auth/oauth/oauth-log.js";
import type { RefusalEvidence } from "../../causes/refusal-evidence.js";
import { refusalEvidence } from "../../causes/refusal-evidence.test.helper.js";
import type { AttemptEvidence, NetworkEvidence, WalkEvidence } from "../evidence.js";

export { now, tokenEvidence as token } from "../../causes/refusal-evidence.test.helper.js";

/** A server with a valid entry, of which nothing else is known. */
export const base: WalkEvidence = {
  server: "api",
  type: "http",
  file: ".mcp.json",
  positions: { entry: { line: 3, column: 5 }, url: { line: 5, column: 7 } },
  isGateway: false,
  commandArguments: [],
  signInArguments: ["--profile", "work"],
  findings: [],
  values: [],
  variables: [],
  tenants: [],
  trust: { state: "trusted", reason: "" },
};
export const network: NetworkEvidence = {
  host: "api.example.com",
  port: 443,
  isSecure: true,
  authorities: [],
  addresses: [],
};

/** A response that rejects the credential of the entry. */
export function refused(status: number, more: Partial<RefusalEvidence> = {}, said = ""): AttemptEvidence {
  const response = {
    method: "POST",
    path: "/mcp",
    status,
    mediaType: "",
    title: undefined,
    excerpt: said,
    location: undefined,
    retryAfter: undefined,
  };
  const code = status === 401 ? "UNAUTHORIZED" : "FORBIDDEN";
  const failure = { code, message: "It was refused.", status } as const;
  return { credential: "headers", failure, response, refusal: refusalEvidence({ status, ...more }) };
}

/** What OAuth did during the walk; the text is the name of the event. */
export function oauthEvent(name: "refreshed" | "refresh-failed" | "tokens-dropped" | "discovered"): OAuthEvent {
  const shown = { severity: "info", text: `${name}.` } as const;
  if (name === "tokens-dropped" || name === "discovered") return { ...shown, kind: name };
  if (name === "refreshed") return { ...shown, kind: "ended", operation: "refresh", outcome: "done" };
  return { ...shown, kind: "ended", operation: "refresh", outcome: "failed", code: "SERVER_FAILED" };
}
