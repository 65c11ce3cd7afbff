import { describe, expect, test } from "vitest";
import type {
  AttemptEvidence,
  AuthorizationServerEvidence,
  ChildEvidence,
  ClientEvidence,
  OAuthEvidence,
  WalkEvidence,
} from "./evidence.js";
import type { CheckOutcome } from "./explanation.js";
import { base, network, now, oauthEvent, refused } from "./rank/evidence.test.helper.js";
import { requirementsOf } from "./requirements.js";

type Row = [CheckOutcome, ...string[]];

/** The outcome and the evidence of the requirement that contains these words; undefined if there is none. */
function rowOf(words: string, seen: Partial<WalkEvidence>): Row | undefined {
  const found = requirementsOf({ ...base, ...seen }).find(({ requirement }) => requirement.includes(words));
  return found && [found.outcome, ...found.evidence];
}

const connected = { name: "notes", version: "1.2", protocolVersion: "2025-06-18", era: "legacy", tools: 2 } as const;
const described = "notes 1.2, protocol 2025-06-18 (legacy era); 2 tools.";
const failure = { code: "CALL_TIMEOUT", message: "It failed." } as const;

test("lists no requirements for a server that is not trusted", () => {
  expect(requirementsOf({ ...base, trust: { state: "new", reason: "" } })).toEqual([]);
  expect(requirementsOf({ ...base, trust: undefined })).toEqual([]);
});

describe("a stdio server", () => {
  const words = ["command exists", "keeps running", "standard output", "speaks the protocol"];
  const child: ChildEvidence = {
    command: "notes",
    path: "/bin/notes",
    searched: [],
    stderr: [],
    strayOutput: undefined,
    missing: [],
    withheld: [],
  };
  const rows = (more: Partial<ChildEvidence>, attempt?: AttemptEvidence) =>
    words.map((word) => rowOf(word, { type: "stdio", child: { ...child, ...more }, attempt }));
  const failed: AttemptEvidence = { credential: "environment", failure };

  test("meets all requirements if it works", () => {
    expect(rows({}, { credential: "environment", connected })).toEqual([
      ["ok", "/bin/notes"],
      ["ok"],
      ["ok"],
      ["ok", described],
    ]);
    expect(requirementsOf({ ...base, type: "stdio", child })).toHaveLength(6);
  });

  test.each<[string, Partial<ChildEvidence>, Row[]]>([
    ["is not found", { path: undefined, notStarted: "not-found" }, [["failed", "notes"], ["skipped"], ["skipped"]]],
    ["does not start", { notStarted: "not-started" }, [["failed", "/bin/notes"], ["skipped"], ["skipped"]]],
    ["exits", { exit: { kind: "exited", code: 1 } }, [["ok", "/bin/notes"], ["failed", "It failed."], ["ok"]]],
    ["logs to standard output", { strayOutput: "Hello" }, [["ok", "/bin/notes"], ["ok"], ["failed", "Hello"]]],
  ])("shows what is not met by a process that %s", (_, more, expected) => {
    expect(rows(more, failed)).toEqual([...expected, ["failed", "It failed."]]);
  });

  test("fails the command of a process that was never looked for", () => {
    expect(rowOf("command exists", { type: "stdio" })).toEqual(["failed"]);
  });
});

describe("a connection", () => {
  const rows = (more: Partial<NonNullable<WalkEvidence["network"]>>) =>
    ["host is reachable", "TLS"].map((word) => rowOf(word, { network: { ...network, ...more } }));
  const at = "api.example.com, port 443";

  test("requires a host that is reachable, and TLS", () => {
    expect(rows({ connected: { address: "10.0.0.1:443", tls: "TLSv1.3" } })).toEqual([
      ["ok", at],
      ["ok", "TLSv1.3"],
    ]);
    expect(rows({})).toEqual([["ok", at], ["skipped"]]);
    expect(rows({ failure: { stage: "tls", code: "", message: "It failed." } })).toEqual([
      ["ok", at],
      ["failed", "It failed."],
    ]);
    expect(rows({ failure: { stage: "name", code: "", message: "It failed." } })).toEqual([
      ["failed", "It failed."],
      ["skipped"],
    ]);
    expect(rows({ isSecure: false })).toEqual([
      ["ok", at],
      ["skipped", "Not used: the server is on this machine."],
    ]);
    expect(rowOf("host is reachable", {})).toEqual(["skipped"]);
  });
});

describe("a credential", () => {
  const row = (seen: Partial<WalkEvidence>) => rowOf("the credential is accepted", seen);

  test("considers a credential met by a server that accepts it, and by one that requires none", () => {
    expect(row({})).toEqual(["skipped"]);
    expect(row({ attempt: { credential: "headers", connected } })).toEqual(["ok", "the headers of the entry"]);
    expect(row({ attempt: { credential: "none", connected } })).toEqual(["ok", "None is required."]);
    expect(row({ attempt: { credential: "headers", failure } })).toEqual(["skipped"]);
    expect(row({ attempt: { credential: "headers", connected, failure } })?.[0]).toBe("ok");
    expect(row({ attempt: refused(403) })).toEqual(["failed", "The server returned 403 to the headers of the entry."]);
    // Nothing is known about OAuth, and nothing was refused.
    expect(row({ attempt: { credential: "oauth", connected }, oauth: { events: [] } })?.[0]).toBe("ok");
  });

  test("requires headers of a helper, if the entry has one", () => {
    const helper = { path: "/h.sh", outcome: "exited", durationMs: 1, headers: ["X-A", "X-B"] } as const;
    const attempts = [undefined, refused(401), { credential: "helper", failure }, { credential: "helper", connected }];
    for (const attempt of attempts as (AttemptEvidence | undefined)[]) {
      expect(rowOf("the helper", { helper, attempt })).toEqual(["ok", "X-A, X-B"]);
      expect(rowOf("the helper", { helper: { ...helper, failure }, attempt })).toEqual(["failed", "It failed."]);
      expect(rowOf("the helper", { attempt })).toBeUndefined();
    }
    expect(rowOf("the helper", { helper, attempt: refused(401), oauth: { events: [] } })?.[0]).toBe("ok");
  });
});

test.each<[string, AttemptEvidence | undefined, Row, Row]>([
  ["was not tried", undefined, ["skipped"], ["skipped"]],
  ["works", { credential: "none", connected }, ["ok", described], ["ok", "2025-06-18, legacy era"]],
  ["refuses", refused(401), ["skipped"], ["skipped"]],
  ["refuses later", { ...refused(401), connected }, ["ok", described], ["ok", "2025-06-18, legacy era"]],
  ["does not speak it", { credential: "none", failure }, ["failed", "It failed."], ["skipped"]],
  [
    "has a defect",
    { credential: "none", connected, failure },
    ["failed", "It failed."],
    ["ok", "2025-06-18, legacy era"],
  ],
])("requires the protocol and its version of a server that %s", (_, attempt, protocol, version) => {
  expect(rowOf("speaks the protocol", { attempt })).toEqual(protocol);
  expect(rowOf("protocol version", { attempt })).toEqual(version);
});

describe("OAuth", () => {
  const issuer = "https://as.example";
  const endpoint = (name: string, defect?: string) => ({ name, url: `https://as.example/${name}`, defect });
  const authorization: AuthorizationServerEvidence = {
    outcome: "found",
    evidence: ["Metadata was read."],
    expectedIssuer: issuer,
    publishedIssuer: issuer,
    pkce: ["plain", "S256"],
    endpoints: [endpoint("token_endpoint"), endpoint("revocation_endpoint")],
    scopes: ["read", "offline_access"],
    takesMetadataDocuments: false,
    sendsIssuer: true,
    changedFrom: undefined,
  };
  const resource = {
    outcome: "found",
    evidence: ["Resource metadata was read."],
    resource: "https://api.example.com/mcp",
    scopes: undefined,
  } as const;
  const challenge = { schemes: ["bearer"], error: undefined, description: undefined, scopes: [] };
  const named = { challenge: { ...challenge, resourceMetadata: ["https://a.example/m", "https://b.example/m"] } };
  const row = (words: string, oauth: Partial<OAuthEvidence> = {}, attempt: AttemptEvidence = refused(401)) =>
    rowOf(words, { attempt, oauth: { events: [], resource, authorization, ...oauth } });
  const look = (words: string, more: Partial<AuthorizationServerEvidence>) =>
    row(words, { authorization: { ...authorization, ...more } });

  test("replaces the requirement of a credential after a refusal, or if the metadata was read", () => {
    const accepted = "the credential is accepted";
    expect(rowOf(accepted, { attempt: refused(401), oauth: { events: [] } })).toBeUndefined();
    const works = { credential: "oauth", connected } as const;
    expect(rowOf(accepted, { attempt: works, oauth: { events: [], resource } })).toBeUndefined();
    expect(requirementsOf({ ...base, attempt: works, oauth: { events: [], resource } }).length).toBe(15);
  });

  test("asks for a challenge that names the metadata, which is not required", () => {
    expect(row("401 has a challenge", {}, refused(401, named))).toEqual([
      "ok",
      "https://a.example/m, https://b.example/m",
    ]);
    expect(row("401 has a challenge")).toEqual(["skipped", "It names none, so the well-known urls are used."]);
    expect(row("401 has a challenge", {}, refused(403))).toEqual(["skipped"]);
    expect(row("401 has a challenge", {}, refused(403, named))?.[0]).toBe("skipped");
    expect(row("401 has a challenge", {}, { credential: "oauth", connected })).toEqual(["skipped"]);
  });

  test.each([
    ["found", "ok", "ok"],
    ["foreign", "ok", "failed"],
    ["absent", "failed", "skipped"],
    ["failed", "failed", "failed"],
  ] as const)(
    "decides about resource metadata that is %s: published is %s, its resource is %s",
    (outcome, published, same) => {
      const seen = { resource: { ...resource, outcome } };
      expect(row("RFC 9728", seen)).toEqual([published, "Resource metadata was read."]);
      expect(row("RFC 8707", seen)).toEqual([same, "https://api.example.com/mcp"]);
      expect(row("RFC 9728", { resource: undefined })).toEqual(["skipped"]);
      expect(row("RFC 8707", { resource: undefined })).toEqual(["skipped"]);
    },
  );

  test("skips the requirements of an authorization server that is not known", () => {
    for (const words of [
      "RFC 8414",
      "its issuer",
      "every endpoint",
      "PKCE",
      "RFC 9207",
      "offline_access",
      "a client is",
    ])
      expect(row(words, { authorization: undefined }), words).toEqual(["skipped"]);
  });

  test("requires metadata of the authorization server, with its issuer", () => {
    expect(look("RFC 8414", {})).toEqual(["ok", "Metadata was read."]);
    expect(look("RFC 8414", { outcome: "invalid" })).toEqual(["ok", "Metadata was read."]);
    expect(look("RFC 8414", { outcome: "absent" })).toEqual(["failed", "Metadata was read."]);
    expect(look("RFC 8414", { outcome: "default" })).toEqual(["failed", "None; the default endpoints are used."]);
    const other = "https://other.example";
    expect(look("its issuer", {})).toEqual(["ok", issuer]);
    expect(look("its issuer", { publishedIssuer: other })).toEqual([
      "ok",
      other,
      `${issuer} was named; this difference is accepted.`,
    ]);
    expect(look("its issuer", { outcome: "invalid", publishedIssuer: other })).toEqual(["failed", other]);
    expect(look("its issuer", { outcome: "found", publishedIssuer: undefined })).toEqual(["failed", issuer]);
    expect(look("its issuer", { outcome: "absent", publishedIssuer: undefined })).toEqual(["skipped", issuer]);
  });

  test("requires safe endpoints and PKCE with S256", () => {
    expect(look("every endpoint", {})).toEqual(["ok", "token_endpoint", "revocation_endpoint"]);
    const unsafe = [endpoint("token_endpoint", "it uses http"), endpoint("jwks_uri")];
    expect(look("every endpoint", { endpoints: unsafe })).toEqual(["failed", "token_endpoint: it uses http"]);
    expect(look("every endpoint", { outcome: "default", endpoints: [] })).toEqual(["skipped"]);
    expect(look("PKCE", {})).toEqual(["ok", "plain, S256"]);
    expect(look("PKCE", { pkce: ["plain"] })).toEqual(["failed", "plain"]);
    expect(look("PKCE", { pkce: undefined })).toEqual(["failed", "The metadata lists no methods."]);
    expect(look("PKCE", { pkce: undefined, assumesPkce: true })).toEqual([
      "skipped",
      "The metadata does not list it; it is used anyway.",
    ]);
    expect(look("PKCE", { outcome: "default", pkce: undefined })).toEqual(["skipped"]);
  });

  test("recommends the issuer in responses, and tokens that can be renewed and revoked", () => {
    expect(look("RFC 9207", {})).toEqual(["ok"]);
    expect(look("RFC 9207", { sendsIssuer: false })).toEqual(["skipped", "The metadata does not promise it."]);
    expect(look("offline_access", {})).toEqual(["ok", "offline_access is supported; tokens can be revoked."]);
    expect(look("offline_access", { endpoints: [] })).toEqual([
      "skipped",
      "offline_access is supported; tokens cannot be revoked.",
    ]);
    expect(look("offline_access", { scopes: undefined })).toEqual([
      "skipped",
      "offline_access is not supported; tokens can be revoked.",
    ]);
  });

  test("requires a client, or a way to register one", () => {
    const client = (outcome: ClientEvidence["outcome"]) =>
      row("a client is", { client: { kind: "registered", outcome, redirectUri: undefined, evidence: ["Asked."] } });
    for (const outcome of ["accepted", "to-register", "unclear"] as const)
      expect(client(outcome)).toEqual(["ok", "Asked."]);
    for (const outcome of ["dead", "redirect-mismatch", "closed"] as const)
      expect(client(outcome)).toEqual(["failed", "Asked."]);
    expect(look("a client is", {})).toEqual(["skipped", "Only a client that was registered by hand."]);
    const ways = {
      takesMetadataDocuments: true,
      endpoints: [endpoint("token_endpoint"), endpoint("registration_endpoint")],
    };
    expect(look("a client is", ways)).toEqual(["ok", "client-id metadata documents, dynamic registration"]);
  });

  test("requires that the server accepts the stored token", () => {
    const before = {
      isSignedIn: true,
      issuer,
      account: undefined,
      scopes: undefined,
      expiresAt: now,
      obtainedAt: now,
      canRefresh: true,
      pausedUntil: undefined,
      tokenType: "Bearer" as const,
    };
    const words = "accepts the stored token";
    const notSignedIn = "Not signed in: wirescope login api --profile work.";
    expect(row(words)).toEqual(["skipped", notSignedIn]);
    expect(row(words, { before: { ...before, isSignedIn: false } })).toEqual(["skipped", notSignedIn]);
    expect(row(words, { before })).toEqual(["failed", "valid until 2030-01-01T00:00:00Z"]);
    expect(row(words, { before: { ...before, expiresAt: undefined } })).toEqual(["failed"]);
    expect(row(words, { before }, { credential: "oauth", connected })?.[0]).toBe("ok");
    expect(row(words, { before }, { credential: "oauth", connected, failure })?.[0]).toBe("failed");
    const events = (["refreshed", "tokens-dropped"] as const).map(oauthEvent);
    expect(row(words, { before, events })).toEqual(["failed", "refreshed.", "tokens-dropped."]);
  });
});
