import type { AttemptFacts, NetworkFacts, RefusalFacts, TokenFacts, WalkFacts } from "../facts.js";

/** A server whose entry is in order, and of which nothing else is known. */
export const base: WalkFacts = {
  server: "api",
  type: "http",
  file: ".mcp.json",
  places: { entry: { line: 3, column: 5 }, url: { line: 5, column: 7 } },
  isGateway: false,
  commandArguments: [],
  signInArguments: ["--profile", "work"],
  findings: [],
  values: [],
  variables: [],
  tenants: [],
  trust: { state: "trusted", words: "" },
};
export const network: NetworkFacts = {
  host: "api.example.com",
  port: 443,
  isSecure: true,
  authorities: [],
  addresses: [],
};
export const now: number = Date.UTC(2030, 0, 1);

const refusal = (status: number, more: Partial<RefusalFacts> = {}): RefusalFacts => ({
  status,
  now,
  findings: [],
  carriesCredential: true,
  tokens: [],
  tenants: [],
  skewMs: 0,
  ...more,
});

/** A response that refuses the credential of the entry. */
export function refused(status: number, more: Partial<RefusalFacts> = {}, said = ""): AttemptFacts {
  const answer = {
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
  return { credential: "headers", failure, answer, refusal: refusal(status, more) };
}

/** What a token of the variable API_TOKEN says of itself. */
export const token = (more: Partial<TokenFacts> = {}): TokenFacts => ({
  header: "Authorization",
  from: "configuration",
  variables: ["API_TOKEN"],
  issuedAt: undefined,
  notBefore: undefined,
  expiresAt: undefined,
  audience: [],
  isForServer: undefined,
  scopes: undefined,
  tenants: [],
  ...more,
});
