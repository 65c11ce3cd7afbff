import { describe, expect, test } from "vitest";
import type { Finding } from "../config/finding.js";
import type {
  AttemptEvidence,
  AuthorizationServerEvidence,
  ChildEvidence,
  OAuthEvidence,
  WalkEvidence,
} from "./evidence.js";
import type { CheckOutcome, StepName } from "./explanation.js";
import { base, network, now, oauthEvent, refused } from "./rank/evidence.test.helper.js";
import { stepsOf } from "./steps.js";

type Row = [CheckOutcome, ...string[]];

/** The outcome and the evidence of a step; undefined if there is no such step. */
function rowOf(name: StepName, seen: Partial<WalkEvidence>): Row | undefined {
  const found = stepsOf({ ...base, ...seen }).find(({ step }) => step === name);
  return found && [found.outcome, ...found.evidence];
}

const rowsOf = (names: readonly StepName[], seen: Partial<WalkEvidence>) => names.map((name) => rowOf(name, seen));
const finding = (severity: Finding["severity"]): Finding =>
  ({ code: "url-scheme", severity, message: "It is wrong.", path: [], line: 8, column: 1, fix: "" }) as Finding;
const connected = { name: "notes", version: "1.2", protocolVersion: "2025-06-18", era: "legacy", tools: 2 } as const;
const failure = { code: "CALL_TIMEOUT", message: "It failed." } as const;
const attempt: AttemptEvidence = { credential: "headers", connected };

test("lists the steps of a network server and of a stdio server in the order of the walk", () => {
  const names = (seen: Partial<WalkEvidence>) => stepsOf({ ...base, ...seen }).map(({ step }) => step);
  const first = ["configuration", "variables", "trust"];
  const middle = ["proxy", "name", "connection", "tls", "http", "credential", "protocol"];
  expect(names({})).toEqual([...first, ...middle]);
  expect(names({ network: { ...network, isSecure: false } })).not.toContain("tls");
  expect(names({ type: "stdio" })).toEqual([...first, "command", "process", "protocol"]);
});

describe("the entry", () => {
  test("shows the position and the type of an entry, and each finding", () => {
    const row = (seen: Partial<WalkEvidence>) => rowOf("configuration", seen);
    expect(row({})).toEqual(["ok", ".mcp.json:3: Entry of type http."]);
    expect(row({ positions: {}, findings: [finding("warning")] })).toEqual([
      "ok",
      ".mcp.json: Entry of type http.",
      "line 8, warning: It is wrong.",
    ]);
    expect(row({ type: undefined, findings: [finding("warning"), finding("error")] })?.slice(0, 2)).toEqual([
      "failed",
      ".mcp.json:3: The entry is invalid.",
    ]);
  });

  test("shows the variables of an entry, and what is wrong with their values", () => {
    const row = (seen: Partial<WalkEvidence>) => rowOf("variables", seen);
    expect(row({})).toEqual(["skipped", "The entry uses no variables."]);
    expect(row({ variables: ["A", "B"] })).toEqual(["ok", "The entry uses A, B; all are valid."]);
    expect(row({ variables: ["A"], values: [finding("warning")] })).toEqual([
      "ok",
      "The entry uses A.",
      "warning: It is wrong.",
    ]);
    expect(row({ variables: ["A"], values: [finding("warning"), finding("error")] })?.[0]).toBe("failed");
    expect(row({ variables: ["A"], findings: [finding("error")] })).toEqual(["skipped"]);
    expect(row({ variables: ["A"], findings: [finding("warning")] })?.[0]).toBe("ok");
    expect(row({ variables: ["A"], findings: [finding("error")], values: [finding("error")] })?.[0]).toBe("failed");
  });

  test("shows whether an entry is trusted", () => {
    const row = (trust: WalkEvidence["trust"]) => rowOf("trust", { trust });
    expect(row({ state: "trusted", reason: "You approved it." })).toEqual(["ok", "You approved it."]);
    expect(row({ state: "new", reason: "Nobody approved it." })).toEqual(["failed", "Nobody approved it."]);
    expect(row(undefined)).toEqual(["skipped", "Not checked because the entry has errors."]);
  });

  test("shows what a helper returned, if the entry has one", () => {
    const helper = { path: "/h.sh", outcome: "exited", durationMs: 12, headers: ["X-A", "X-B"] } as const;
    expect(rowOf("helper", {})).toBeUndefined();
    expect(rowOf("helper", { positions: { headersHelper: { line: 1, column: 1 } } })).toEqual(["skipped"]);
    expect(rowOf("helper", { helper })).toEqual(["ok", "/h.sh returned X-A, X-B after 12 ms."]);
    expect(rowOf("helper", { helper: { ...helper, headers: [] } })).toEqual([
      "ok",
      "/h.sh returned no headers after 12 ms.",
    ]);
    expect(rowOf("helper", { helper: { ...helper, failure } })).toEqual(["failed", "It failed."]);
  });
});

describe("a process", () => {
  const names = ["command", "process", "protocol"] as const;
  const child: ChildEvidence = {
    command: "notes",
    path: "/bin/notes",
    searched: [],
    stderr: [],
    strayOutput: undefined,
    missing: [],
    withheld: [],
  };
  const rows = (more: Partial<ChildEvidence>, tried?: AttemptEvidence) =>
    rowsOf(names, { type: "stdio", child: { ...child, ...more }, attempt: tried });
  const failed: AttemptEvidence = { credential: "environment", failure };

  test("skips the steps of a process that was not started because of earlier errors", () => {
    expect(rowsOf(names, { type: "stdio" })).toEqual([["skipped"], ["skipped"], ["skipped"]]);
  });

  test("shows where a command was searched that does not exist", () => {
    expect(rows({ path: undefined, notStarted: "not-found" })).toEqual([["failed", "notes"], ["skipped"], ["skipped"]]);
    expect(rows({ path: undefined, searched: ["/bin", "/usr/bin"] })[0]).toEqual([
      "failed",
      "notes; PATH searched: /bin:/usr/bin",
    ]);
  });

  test("shows a process that works, with what it wrote", () => {
    const described = "notes 1.2, protocol 2025-06-18 (legacy era); 2 tools.";
    expect(rows({ stderr: ["ready"], strayOutput: "Hello" }, { credential: "environment", connected })).toEqual([
      ["ok", "/bin/notes"],
      ["ok", "Started.", "stderr: ready"],
      ["ok", described, "Not a message, on standard output: Hello"],
    ]);
  });

  test("says that a process was started only if it was", () => {
    expect(rows({ notStarted: "not-started" }, failed)).toEqual([
      ["ok", "/bin/notes"],
      ["failed", "It failed."],
      ["skipped"],
    ]);
    expect(rows({ exit: { kind: "exited", code: 1 }, strayOutput: "Usage:" }, failed)).toEqual([
      ["ok", "/bin/notes"],
      ["failed", "It failed."],
      ["skipped", "Not a message, on standard output: Usage:"],
    ]);
    expect(rows({ strayOutput: "Usage:" }, failed)).toEqual([
      ["ok", "/bin/notes"],
      ["ok", "Started."],
      ["failed", "It failed.", "Not a message, on standard output: Usage:"],
    ]);
  });
});

describe("the connection", () => {
  const names = ["proxy", "name", "connection", "tls"] as const;
  const open = {
    ...network,
    addresses: ["10.0.0.1", "10.0.0.2"],
    connected: { address: "10.0.0.1:443", tls: "TLSv1.3" },
  };

  test("shows each stage of a connection, with and without a proxy", () => {
    expect(rowsOf(names, { network: open })).toEqual([
      ["skipped", "No proxy for this host."],
      ["ok", "api.example.com: 10.0.0.1, 10.0.0.2."],
      ["ok", "Connected to 10.0.0.1:443, for api.example.com:443."],
      ["ok", "TLSv1.3."],
    ]);
    const proxy = { name: "proxy.example:8080", variable: "HTTPS_PROXY" };
    expect(rowsOf(["proxy", "name"], { network: { ...open, proxy } })).toEqual([
      ["ok", "proxy.example:8080, from HTTPS_PROXY."],
      ["ok", "proxy.example:8080: 10.0.0.1, 10.0.0.2."],
    ]);
    const address = { ...network, host: "10.0.0.1", addresses: ["10.0.0.1"] };
    expect(rowsOf(["name", "connection", "tls"], { network: address })).toEqual([
      ["ok", "10.0.0.1 is an address."],
      ["ok"],
      ["ok"],
    ]);
    expect(rowOf("tls", { network: { ...open, connected: { address: "10.0.0.1:443", tls: undefined } } })).toEqual([
      "ok",
    ]);
  });

  test.each([
    ["settings", ["failed", "skipped", "skipped", "skipped"]],
    ["proxy", ["failed", "skipped", "skipped", "skipped"]],
    ["name", ["skipped", "failed", "skipped", "skipped"]],
    ["connection", ["skipped", "ok", "failed", "skipped"]],
    ["tls", ["skipped", "ok", "ok", "failed"]],
  ] as const)("shows a failure at the stage %s, and skips what follows", (stage, outcomes) => {
    const rows = rowsOf(names, { network: { ...open, failure: { stage, code: "", message: "It failed." } } });
    expect(rows.map((row) => row?.[0])).toEqual(outcomes);
    expect(rows.find((row) => row?.[0] === "failed")).toEqual(["failed", "It failed."]);
  });

  test("shows the certificate that TLS rejected", () => {
    const certificate = { subject: "CN=a", issuer: "CN=b", names: "", validFrom: "2029", validTo: "2031" };
    const row = (names: string) =>
      rowOf("tls", {
        network: {
          ...open,
          failure: { stage: "tls", code: "", message: "It failed." },
          certificate: { ...certificate, names },
        },
      })?.at(-1);
    expect(row("")).toBe("The certificate is for CN=a, signed by CN=b, valid from 2029 until 2031.");
    expect(row("a.example")).toContain("is for a.example, signed");
  });

  test("skips the stages of a connection that was not tried", () => {
    expect(rowsOf(names, {})).toEqual([["skipped"], ["skipped"], ["skipped"], ["skipped"]]);
  });
});

describe("an attempt", () => {
  const names = ["http", "credential", "protocol"] as const;
  const described = "notes 1.2, protocol 2025-06-18 (legacy era); 2 tools.";
  const rows = (tried: AttemptEvidence | undefined) => rowsOf(names, { attempt: tried });

  test("skips the steps of an attempt that was not made", () => {
    expect(rows(undefined)).toEqual([["skipped"], ["skipped"], ["skipped"]]);
  });

  test("shows a server that works, with or without a credential", () => {
    expect(rows(attempt)).toEqual([
      ["ok", "The server responds over http."],
      ["ok", "Accepted: the headers of the entry."],
      ["ok", described],
    ]);
    expect(rows({ ...attempt, credential: "none" })[1]).toEqual(["skipped", "None was sent, and none is required."]);
  });

  test("shows a refusal as a failure of the credential, not of HTTP or the protocol", () => {
    expect(rows(refused(401))).toEqual([
      ["ok", "POST /mcp returned 401."],
      ["failed", "The server returned 401 to the headers of the entry."],
      ["skipped"],
    ]);
    expect(rows({ ...refused(403), connected })[2]).toEqual(["skipped", described]);
  });

  test("shows a failure of HTTP, and skips what follows", () => {
    const { response } = refused(404);
    expect(rows({ credential: "headers", failure, response })).toEqual([
      ["failed", "It failed.", "POST /mcp returned 404."],
      ["skipped"],
      ["skipped"],
    ]);
  });

  test.each([
    ["CALL_TIMEOUT", connected],
    ["RESPONSE_INVALID", undefined],
    ["CALL_REFUSED", undefined],
  ] as const)("shows %s as a failure of the protocol (server: %o)", (code, server) => {
    const tried = { credential: "headers", connected: server, failure: { ...failure, code } } as const;
    expect(rows(tried)).toEqual([
      ["ok"],
      ["ok", "Accepted: the headers of the entry."],
      ["failed", "It failed.", ...(server === undefined ? [] : [described])],
    ]);
    expect(rows({ ...tried, credential: "none" })[1]).toEqual(["skipped", "None was sent, and none is required."]);
  });

  test.each([
    [
      { name: undefined, version: undefined, tools: undefined },
      "A server without a name, protocol 2025-06-18 (legacy era).",
    ],
    [{ version: undefined, tools: 1 }, "notes, protocol 2025-06-18 (legacy era); 1 tool."],
    [{ tools: 0 }, "notes 1.2, protocol 2025-06-18 (legacy era); 0 tools."],
  ])("describes a server with %o", (more, expected) => {
    expect(rowOf("protocol", { attempt: { ...attempt, connected: { ...connected, ...more } } })).toEqual([
      "ok",
      expected,
    ]);
  });
});

describe("a sign-in", () => {
  const issuer = "https://as.example";
  const before = {
    isSignedIn: true,
    issuer,
    account: "ada",
    scopes: ["read", "write"],
    expiresAt: now,
    obtainedAt: now,
    canRefresh: true,
    pausedUntil: undefined,
    tokenType: "Bearer" as const,
  };
  const authorization: AuthorizationServerEvidence = {
    outcome: "found",
    evidence: ["Metadata was read."],
    expectedIssuer: issuer,
    publishedIssuer: issuer,
    pkce: ["S256"],
    endpoints: [],
    scopes: undefined,
    takesMetadataDocuments: false,
    sendsIssuer: true,
    changedFrom: undefined,
  };
  const row = (name: StepName, oauth: Partial<OAuthEvidence>) => rowOf(name, { oauth: { events: [], ...oauth } });

  test("mentions no token without a sign-in", () => {
    const row = (isSignedIn: boolean, events: OAuthEvidence["events"] = []) =>
      rowOf("credential", {
        attempt: { ...refused(401), credential: "oauth" },
        oauth: { events, before: { ...before, isSignedIn } },
      })?.[1];
    expect(row(false)).toBe("The server returned 401 to a request without a credential.");
    expect(row(true)).toBe("The server returned 401 to the token of the sign-in.");
    expect(row(false, [oauthEvent("refreshed")])).toBe("The server returned 401 to the token of the sign-in.");
  });

  test("shows the stored token, the vault and what happened to the token", () => {
    expect(rowOf("sign-in", {})).toBeUndefined();
    const vault = { summary: "In the keychain.", warning: "It is locked." };
    const events = (["refreshed", "tokens-dropped", "discovered"] as const).map(oauthEvent);
    expect(row("sign-in", { before, vault, events })).toEqual([
      "ok",
      "Signed in as ada with https://as.example, scopes read write, until 2030-01-01T00:00:00Z.",
      "In the keychain.",
      "It is locked.",
      "refreshed.",
      "tokens-dropped.",
    ]);
    const bare = { account: undefined, issuer: undefined, scopes: [], expiresAt: undefined, canRefresh: false };
    const unknown = ["ok", "Signed in with an unknown issuer, without a refresh token."];
    expect(row("sign-in", { before: { ...before, ...bare } })).toEqual(unknown);
    expect(row("sign-in", { before: { ...before, ...bare, scopes: undefined } })).toEqual(unknown);
    const notSignedIn = "Not signed in to this server.";
    expect(row("sign-in", { vault })).toEqual(["skipped", notSignedIn, "In the keychain.", "It is locked."]);
    expect(row("sign-in", { before: { ...before, isSignedIn: false } })).toEqual(["skipped", notSignedIn]);
    // A server that works in this case was sent no token.
    const oauth = { events: [], before: { ...before, isSignedIn: false } };
    const none = ["skipped", "None was sent, and none is required."];
    expect(rowOf("credential", { oauth, attempt: { credential: "oauth", connected } })).toEqual(none);
    expect(row("sign-in", { before, vaultFailure: failure })).toEqual(["failed", "It failed."]);
  });

  const resource = {
    outcome: "found",
    evidence: ["Resource metadata was read."],
    resource: undefined,
    scopes: undefined,
  } as const;

  test.each<[Partial<AuthorizationServerEvidence>, Partial<OAuthEvidence>, Row]>([
    [{}, {}, ["ok", "Metadata was read."]],
    [{}, { resource }, ["ok", "Resource metadata was read.", "Metadata was read."]],
    [{ outcome: "default", pkce: undefined }, {}, ["ok", "Metadata was read."]],
    [{ outcome: "absent", pkce: undefined }, {}, ["failed", "Metadata was read."]],
    [{ outcome: "invalid" }, {}, ["failed", "Metadata was read."]],
    [{ pkce: ["plain"] }, {}, ["failed", "Metadata was read.", "PKCE with S256 is not supported."]],
    [{ pkce: undefined }, {}, ["failed", "Metadata was read.", "PKCE with S256 is not supported."]],
    [
      { pkce: undefined, assumesPkce: true },
      {},
      ["ok", "Metadata was read.", "The metadata does not list PKCE with S256; it is used anyway."],
    ],
    [
      { changedFrom: "https://old.example" },
      {},
      ["failed", "Metadata was read.", "Before, it was https://old.example."],
    ],
  ])("shows the authorization server with %o and %o", (look, more, [outcome, ...evidence]) => {
    expect(row("authorization-server", { ...more, authorization: { ...authorization, ...look } })).toEqual([
      outcome,
      issuer,
      ...evidence,
    ]);
  });

  test("shows metadata of another resource, for which no authorization server is looked for", () => {
    const foreign = { ...resource, outcome: "foreign" } as const;
    expect(row("authorization-server", { resource: foreign })).toEqual(["failed", "Resource metadata was read."]);
    expect(row("authorization-server", {})).toBeUndefined();
  });

  test.each([
    ["accepted", "ok"],
    ["dead", "failed"],
    ["redirect-mismatch", "failed"],
    ["closed", "failed"],
    ["to-register", "skipped"],
    ["unclear", "skipped"],
  ] as const)("shows a client that is %s as %s", (outcome, expected) => {
    const client = { kind: "registered", outcome, redirectUri: undefined, evidence: ["Asked."] } as const;
    expect(row("client", { authorization, client })).toEqual([expected, "Asked."]);
    expect(row("client", { client })).toBeUndefined();
    expect(row("client", { authorization })).toBeUndefined();
  });
});
