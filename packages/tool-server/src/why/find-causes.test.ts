import { describe, expect, test } from "vitest";
import type { RefusalEvidence } from "../causes/refusal-evidence.js";
import type { AuthorizationServerEvidence, OAuthEvidence, WalkEvidence } from "./evidence.js";
import { findCauses } from "./explain-server.js";
import { base, network, now, oauthEvent, refused, token } from "./rank/evidence.test.helper.js";

const codes = (seen: Partial<WalkEvidence>): string[] => findCauses({ ...base, ...seen }).map(({ code }) => code);
const weights = (seen: Partial<WalkEvidence>): Record<string, number> =>
  Object.fromEntries(findCauses({ ...base, ...seen }).map(({ code, weight }) => [code, weight]));

test("[TS-D-WHY-1] finds nothing wrong if nothing failed, even with warnings", () => {
  const warned = {
    ...base.positions.url,
    code: "variable-placeholder",
    severity: "warning",
    message: "",
    fix: "",
    path: [],
  };
  const values = [{ ...warned, variable: "API_TOKEN" }] as unknown as WalkEvidence["values"];
  expect(codes({})).toEqual([]);
  expect(codes({ values, network, attempt: { credential: "headers" } })).toEqual([]);
  expect(codes({ values, network, attempt: refused(401) })[0]).toBe("variable-placeholder");
});

test("[TS-D-WHY-1] [TS-D-WHY-2] sorts causes by weight, each once, with all of its evidence", () => {
  const challenge = {
    schemes: ["bearer"],
    error: "insufficient_scope",
    description: "permission admin is missing",
    scopes: ["admin"],
    resourceMetadata: [],
  };
  const tokens = [token({ scopes: ["read"] })];
  const ranked = findCauses({ ...base, attempt: refused(401, { challenge, tokens }) });
  expect(ranked.map(({ weight }) => weight)).toEqual(ranked.map(({ weight }) => weight).sort((a, b) => b - a));
  expect(ranked.filter(({ code }) => code === "scope-missing")).toHaveLength(1);
  expect(ranked[0]).toMatchObject({ code: "scope-missing", weight: 0.95 });
  expect(ranked[0]?.evidence).toContain("The token has: read.");
});

test("[TS-D-WHY-1] puts the earlier cause of the walk first if two have the same weight", () => {
  const found = { ...base.positions.url, severity: "error", message: "", fix: "", path: [] };
  const findings = [{ ...found, code: "url-scheme" }] as unknown as WalkEvidence["findings"];
  const values = [{ ...found, code: "variable-unset", variable: "A" }] as unknown as WalkEvidence["values"];
  const trust = { state: "new", reason: "" } as const;
  const ranked = findCauses({ ...base, findings, values, trust });
  expect(ranked.map(({ code, weight }) => [code, weight])).toEqual([
    ["entry-invalid", 1],
    ["variable-unset", 1],
    ["not-approved", 1],
  ]);
});

test("reports an unknown failure as it is", () => {
  const failure = { code: "CREDENTIAL_CLOSED", message: "It was closed." } as const;
  const [cause, ...rest] = findCauses({ ...base, network, attempt: { credential: "headers", failure } });
  expect(rest).toEqual([]);
  expect(cause).toMatchObject({
    code: "unknown",
    problem: "It was closed.",
    evidence: [],
    fix: { advice: expect.stringContaining("--debug") },
  });
});

test("repeats the advice of an unknown failure, if it has one", () => {
  const failure = { code: "SIGN_IN_NEEDED", message: "It expired.", advice: "Run wirescope login --idp." } as const;
  const adviceFor = (advice: string) => {
    const [cause] = findCauses({ ...base, network, attempt: { credential: "oauth", failure: { ...failure, advice } } });
    return cause?.fix.advice;
  };
  expect(adviceFor(failure.advice)).toBe(failure.advice);
  expect(adviceFor("")).toContain("--debug");
});

test("[TS-D-WHY-1] lists several variables, entry errors and missing variables of a process separately", () => {
  const found = { ...base.positions.url, severity: "error", message: "", fix: "", path: [] };
  const unset = (variable: string) => ({ ...found, code: "variable-unset", variable });
  const values = [unset("A"), unset("B"), unset("B")] as unknown as WalkEvidence["values"];
  expect(findCauses({ ...base, values }).map(({ fix }) => fix.variable)).toEqual(["A", "B"]);
  const findings = ["one", "two"].map((message) => ({
    ...found,
    code: "url-scheme",
    message,
  })) as unknown as WalkEvidence["findings"];
  expect(findCauses({ ...base, findings }).map(({ problem }) => problem)).toEqual(["one", "two"]);
});

test("[TS-D-WHY-2] keeps the likelier of two findings of the same cause, with the evidence of both", () => {
  const { response } = refused(401, {}, "jwt expired");
  const tokens = [token({ expiresAt: now - 3_600_000 })];
  const attempt = { ...refused(401, { tokens }), response };
  const expired = findCauses({ ...base, attempt }).filter(({ code }) => code === "token-expired");
  expect(expired).toMatchObject([{ weight: 0.97 }]);
  expect(expired[0]?.evidence).toEqual([...new Set(expired[0]?.evidence)]);
});

test("[TS-D-WHY-1] reports a failure of a helper, the network or the vault as a failure of the server", () => {
  const failure = { code: "HELPER_FAILED", message: "It failed." } as const;
  const helper = { path: "/h.sh", outcome: "exited", durationMs: 1, headers: [], failure } as const;
  expect(codes({ helper })).toEqual(["helper-failed"]);
  expect(codes({ network: { ...network, failure: { stage: "name", code: "", message: "" } } })).toEqual([
    "name-unknown",
  ]);
  expect(codes({ oauth: { events: [], vaultFailure: failure } })).toEqual(["vault-unreadable"]);
  const { trust: _, ...withoutTrust } = base;
  expect(findCauses(withoutTrust)).toEqual([]);
});

describe("a refused token", () => {
  const hour = 3_600_000;

  test.each([
    ["expired by both clocks", { expiresAt: now - hour }, 0, ["token-expired", "token-refused"]],
    [
      "expired by the server's clock alone",
      { expiresAt: now + hour },
      2 * hour,
      ["clock-skew", "token-expired", "token-refused"],
    ],
    ["too early by both clocks", { notBefore: now + hour }, 0, ["token-not-yet-valid", "token-refused"]],
    [
      "too early by the server's clock alone",
      { issuedAt: now - hour },
      -2 * hour,
      ["clock-skew", "token-not-yet-valid", "token-refused"],
    ],
    ["in order, with clocks that differ", { expiresAt: now + 9 * hour }, 2 * hour, ["clock-skew", "token-refused"]],
  ] as const)("explains a refused token that is %s", (_, times, skewMs, expected) => {
    expect(codes({ attempt: refused(401, { tokens: [token(times)], skewMs }) })).toEqual(expected);
  });

  test("ranks a token for another service before causes that are only possible", () => {
    const tokens = [token({ audience: ["https://other.example"], isForServer: false })];
    expect(weights({ network, attempt: refused(401, { tokens }) })["wrong-audience"]).toBe(0.9);
    const unclear = [token({ audience: ["api://a-name"] })];
    expect(weights({ network, attempt: refused(401, { tokens: unclear }) })["wrong-audience"]).toBe(0.35);
    expect(codes({ attempt: refused(401, { tokens: [token({ audience: ["x"], isForServer: true })] }) })).toEqual([
      "token-refused",
    ]);
  });

  test("concludes nothing about scopes from a first challenge", () => {
    const challenge = {
      schemes: ["bearer"],
      error: undefined,
      description: undefined,
      scopes: ["admin"],
      resourceMetadata: [],
    };
    expect(codes({ attempt: refused(401, { tokens: [token({ scopes: [] })], challenge }) })).toEqual(["token-refused"]);
  });

  test("does not blame the tenant if the token belongs to it", () => {
    const tenants = [{ header: "X-Tenant-ID", value: "acme" }];
    const same = [token({ tenants: [{ claim: "tid", value: "acme" }] })];
    const other = [token({ tenants: [{ claim: "tid", value: "globex" }] })];
    expect(codes({ attempt: refused(403, { tenants, tokens: same }) })).not.toContain("wrong-tenant");
    expect(codes({ attempt: refused(403, { tenants, tokens: other }) })[0]).toBe("wrong-tenant");
  });
});

describe("a refusal by a server that offers OAuth", () => {
  const challenge = { schemes: ["bearer"], error: undefined, description: undefined, scopes: [] };
  const named = { ...challenge, resourceMetadata: ["https://api.example.com/.well-known/oauth-protected-resource"] };
  const offer = { headers: ["X-Key"], issuer: "https://as.example", canRegister: true, evidence: ["It was read."] };
  const offered = (seen: Partial<WalkEvidence>) =>
    findCauses({ ...base, network, ...seen }).find(({ code }) => code === "oauth-offered");

  test.each(["headers", "helper"] as const)("[TS-D-WHY-3] suggests a sign-in in place of %s", (credential) => {
    const attempt = { ...refused(401, { challenge: named }), credential };
    expect(offered({ attempt })).toMatchObject({
      weight: 0.35,
      evidence: ["POST /mcp returned 401.", `The challenge names ${named.resourceMetadata}.`],
      fix: { command: "wirescope login api --profile work" },
    });
    expect(offered({ attempt: { ...refused(401), credential }, offer })).toMatchObject({
      evidence: ["POST /mcp returned 401.", "It was read."],
      fix: { advice: "Remove X-Key from the headers of the entry, then sign in." },
    });
    expect(offered({ attempt: { ...refused(401), credential } })).toBeUndefined();
  });

  test("suggests no sign-in for a WebSocket server, or if OAuth is already used", () => {
    expect(offered({ type: "ws", attempt: refused(401, { challenge: named }), offer })).toBeUndefined();
    const attempt = { ...refused(401, { challenge: named }), credential: "oauth" } as const;
    expect(offered({ attempt, offer })).toBeUndefined();
  });
});

test("[TS-D-WHY-2] names the host of the walk, and its variables that select a tenant", () => {
  const tokens = [token({ audience: ["https://other.example"], isForServer: false })];
  const refusal = { tokens, host: "proxy.example", tenantVariables: ["KNOWN_TENANT"] };
  const problems = (seen: Partial<WalkEvidence>) =>
    findCauses({ ...base, attempt: refused(403, refusal), ...seen }).map(({ problem }) => problem);
  const tenants = [{ variable: "TENANT", via: "host" }] as unknown as WalkEvidence["tenants"];
  expect(problems({ network })).toContainEqual(expect.stringContaining("but the server is api.example.com, port 443."));
  expect(problems({})).toContainEqual(expect.stringContaining("but the server is proxy.example."));
  expect(problems({ tenants })).toContainEqual(expect.stringMatching(/^TENANT selects the tenant/));
  expect(problems({})).toContainEqual(expect.stringMatching(/^KNOWN_TENANT selects the tenant/));
});

describe("the server's message", () => {
  test.each([
    ["Need admin approval", "approval-needed"],
    ["Consent is required for this application", "approval-needed"],
    ["jwt expired", "token-expired"],
    ["Invalid audience", "wrong-audience"],
    ["insufficient permissions for tools", "scope-missing"],
    ["Unknown tenant", "wrong-tenant"],
    ["organization acme does not exist or you have no access", "wrong-tenant"],
  ])('explains the message "%s" as %s', (said, cause) => {
    expect(codes({ attempt: refused(403, {}, said) })[0]).toBe(cause);
  });

  test("guesses no cause from a message that says nothing", () => {
    expect(codes({ attempt: refused(403, {}, "Forbidden") })).toEqual(["permission-missing", "approval-needed"]);
  });
});

describe("OAuth", () => {
  const signedIn = {
    isSignedIn: true,
    issuer: "https://as.example",
    account: undefined,
    scopes: ["read"],
    expiresAt: now + 3_600_000,
    obtainedAt: now - 1000,
    canRefresh: true,
    pausedUntil: undefined,
    tokenType: "Bearer" as const,
  };
  const authorization: AuthorizationServerEvidence = {
    outcome: "found",
    evidence: [],
    expectedIssuer: "https://as.example",
    publishedIssuer: "https://as.example",
    pkce: ["S256"],
    endpoints: [],
    scopes: undefined,
    takesMetadataDocuments: false,
    sendsIssuer: true,
    changedFrom: undefined,
  };
  const byOAuth = (
    status: number,
    oauth: Partial<OAuthEvidence>,
    more: Partial<RefusalEvidence> = {},
  ): Partial<WalkEvidence> => ({
    network,
    attempt: { ...refused(status, more), credential: "oauth" },
    oauth: { events: [], before: signedIn, authorization, ...oauth },
  });

  test("reports a new token that is refused as a loop, unless it is shown to be for another server", () => {
    expect(codes(byOAuth(401, {}))).toEqual(["sign-in-loop"]);
    const tokens = [token({ from: "oauth", audience: ["https://other.example"], isForServer: false })];
    const [first] = findCauses({ ...base, ...byOAuth(401, {}, { tokens }) });
    expect(first).toMatchObject({
      code: "wrong-audience",
      fix: { command: "wirescope logout api --profile work && wirescope login api --profile work" },
    });
  });

  test("ranks invalid metadata before the sign-in, which could not succeed", () => {
    const before = { ...signedIn, isSignedIn: false, canRefresh: false };
    expect(codes(byOAuth(401, { before, authorization: { ...authorization, pkce: undefined } }))).toEqual([
      "pkce-missing",
      "sign-in-needed",
    ]);
  });

  test("finds no cause in a refresh that failed and then succeeded", () => {
    const events = (["refresh-failed", "refreshed"] as const).map(oauthEvent);
    expect(codes(byOAuth(401, { events }))).toEqual(["sign-in-loop"]);
    expect(codes(byOAuth(401, { events: events.toReversed() }))[0]).toBe("refresh-failing");
  });

  test("finds no cause in a stored token if the server works", () => {
    expect(
      codes({ network, attempt: { credential: "oauth" }, oauth: { events: [], before: signedIn, authorization } }),
    ).toEqual([]);
  });
});

describe("commands", () => {
  test("[TS-D-WHY-3] quotes suggested commands for a shell, and adds the given arguments", () => {
    const trust = { state: "new", reason: "" } as const;
    const [cause] = findCauses({ ...base, server: "my server's", commandArguments: ["--config", "a b.json"], trust });
    expect(cause?.fix.command).toBe("wirescope trust 'my server'\\''s' --config 'a b.json'");
  });
});
