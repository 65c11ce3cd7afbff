import { describe, expect, test } from "vitest";
import type { RefusalFacts, WalkFacts } from "../facts.js";
import type { AuthorizationLook, OAuthFacts } from "../oauth-facts.js";
import { base, network, now, refused, token } from "./facts.test.helper.js";
import { rankCauses } from "./rank-causes.js";

const codes = (facts: Partial<WalkFacts>): string[] => rankCauses({ ...base, ...facts }).map(({ cause }) => cause);
const weights = (facts: Partial<WalkFacts>): Record<string, number> =>
  Object.fromEntries(rankCauses({ ...base, ...facts }).map(({ cause, weight }) => [cause, weight]));

test("[TS-D-WHY-1] nothing is wrong where nothing failed, whatever was warned of", () => {
  const warned = {
    ...base.places.url,
    code: "variable-placeholder",
    severity: "warning",
    message: "",
    fix: "",
    path: [],
  };
  const values = [{ ...warned, variable: "API_TOKEN" }] as unknown as WalkFacts["values"];
  expect(codes({})).toEqual([]);
  expect(codes({ values, network, attempt: { credential: "headers" } })).toEqual([]);
  expect(codes({ values, network, attempt: refused(401) })[0]).toBe("variable-placeholder");
});

test("[TS-D-WHY-1] [TS-D-WHY-2] causes stand by weight, each once, with all that speaks for it", () => {
  const findings = [
    { cause: "variable", weight: "check", message: "", variables: ["API_TOKEN"], header: "Authorization" },
    { cause: "scope-missing", weight: "explains", message: "It lacks a scope.", variables: [] },
  ] as const;
  const challenge = {
    schemes: ["bearer"],
    error: "insufficient_scope",
    description: "permission admin is missing",
    scopes: ["admin"],
    resourceMetadata: [],
  };
  const tokens = [token({ scopes: ["read"] })];
  const ranked = rankCauses({ ...base, attempt: refused(401, { findings, challenge, tokens }) });
  expect(ranked.map(({ weight }) => weight)).toEqual(ranked.map(({ weight }) => weight).sort((a, b) => b - a));
  expect(ranked.filter(({ cause }) => cause === "scope-missing")).toHaveLength(1);
  expect(ranked[0]).toMatchObject({ cause: "scope-missing", weight: 0.95 });
  expect(ranked[0]?.evidence).toContain("The token has: read.");
});

test("[TS-D-WHY-1] of causes with one weight, the one that comes earlier in the walk stands first", () => {
  const found = { ...base.places.url, severity: "error", message: "", fix: "", path: [] };
  const findings = [{ ...found, code: "url-scheme" }] as unknown as WalkFacts["findings"];
  const values = [{ ...found, code: "variable-unset", variable: "A" }] as unknown as WalkFacts["values"];
  const trust = { state: "new", words: "" } as const;
  const ranked = rankCauses({ ...base, findings, values, trust });
  expect(ranked.map(({ cause, weight }) => [cause, weight])).toEqual([
    ["entry-invalid", 1],
    ["variable-unset", 1],
    ["not-approved", 1],
  ]);
});

test("a failure that no rule knows is told as it is", () => {
  const failure = { code: "CREDENTIAL_CLOSED", message: "It was closed." } as const;
  const [cause, ...rest] = rankCauses({ ...base, network, attempt: { credential: "headers", failure } });
  expect(rest).toEqual([]);
  expect(cause).toMatchObject({ cause: "unknown", message: "It was closed." });
});

test("[TS-D-WHY-1] several variables, errors of the entry and missing variables of a process stand side by side", () => {
  const found = { ...base.places.url, severity: "error", message: "", fix: "", path: [] };
  const unset = (variable: string) => ({ ...found, code: "variable-unset", variable });
  const values = [unset("A"), unset("B"), unset("B")] as unknown as WalkFacts["values"];
  expect(rankCauses({ ...base, values }).map(({ mend }) => mend.variable)).toEqual(["A", "B"]);
  const findings = ["one", "two"].map((message) => ({
    ...found,
    code: "url-scheme",
    message,
  })) as unknown as WalkFacts["findings"];
  expect(rankCauses({ ...base, findings }).map(({ message }) => message)).toEqual(["one", "two"]);
});

test("[TS-D-WHY-2] of two that found the same cause, the surer one is told, with the evidence of both", () => {
  const { answer } = refused(401, {}, "jwt expired");
  const tokens = [token({ expiresAt: now - 3_600_000 })];
  const attempt = { ...refused(401, { tokens }), answer };
  const expired = rankCauses({ ...base, attempt }).filter(({ cause }) => cause === "token-expired");
  expect(expired).toMatchObject([{ weight: 0.97 }]);
  expect(expired[0]?.evidence).toEqual([...new Set(expired[0]?.evidence)]);
});

test("[TS-D-WHY-1] a failure of a helper, of the network or of the vault is one of the whole", () => {
  const failure = { code: "HELPER_FAILED", message: "It failed." } as const;
  const helper = { path: "/h.sh", outcome: "exited", durationMs: 1, headers: [], failure } as const;
  expect(codes({ helper })).toEqual(["helper-failed"]);
  expect(codes({ network: { ...network, failure: { stage: "name", code: "", message: "" } } })).toEqual([
    "name-unknown",
  ]);
  expect(codes({ oauth: { events: [], vaultFailure: failure } })).toEqual(["vault-unreadable"]);
  const { trust: _, ...unjudged } = base;
  expect(rankCauses(unjudged)).toEqual([]);
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
  ] as const)("that is %s", (_, times, skewMs, expected) => {
    expect(codes({ attempt: refused(401, { tokens: [token(times)], skewMs }) })).toEqual(expected);
  });

  test("that is for another service is that before all that is only possible", () => {
    const tokens = [token({ audience: ["https://other.example"], isForServer: false })];
    expect(weights({ network, attempt: refused(401, { tokens }) })["wrong-audience"]).toBe(0.9);
    const unclear = [token({ audience: ["api://a-name"] })];
    expect(weights({ network, attempt: refused(401, { tokens: unclear }) })["wrong-audience"]).toBe(0.35);
    expect(codes({ attempt: refused(401, { tokens: [token({ audience: ["x"], isForServer: true })] }) })).toEqual([
      "token-refused",
    ]);
  });

  test("whose challenge is the first one says nothing of scopes", () => {
    const challenge = {
      schemes: ["bearer"],
      error: undefined,
      description: undefined,
      scopes: ["admin"],
      resourceMetadata: [],
    };
    expect(codes({ attempt: refused(401, { tokens: [token({ scopes: [] })], challenge }) })).toEqual(["token-refused"]);
  });

  test("of the tenant that is chosen leaves the tenant alone", () => {
    const tenants = [{ header: "X-Tenant-ID", value: "acme" }];
    const same = [token({ tenants: [{ claim: "tid", value: "acme" }] })];
    const other = [token({ tenants: [{ claim: "tid", value: "globex" }] })];
    expect(codes({ attempt: refused(403, { tenants, tokens: same }) })).not.toContain("wrong-tenant");
    expect(codes({ attempt: refused(403, { tenants, tokens: other }) })[0]).toBe("wrong-tenant");
  });
});

describe("what a server says", () => {
  test.each([
    ["Need admin approval", "approval-needed"],
    ["Consent is required for this application", "approval-needed"],
    ["jwt expired", "token-expired"],
    ["Invalid audience", "wrong-audience"],
    ["insufficient permissions for tools", "scope-missing"],
    ["Unknown tenant", "wrong-tenant"],
    ["organization acme does not exist or you have no access", "wrong-tenant"],
  ])("%s: %s", (said, cause) => {
    expect(codes({ attempt: refused(403, {}, said) })[0]).toBe(cause);
  });

  test("is not read into what says nothing", () => {
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
  const authorization: AuthorizationLook = {
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
    oauth: Partial<OAuthFacts>,
    more: Partial<RefusalFacts> = {},
  ): Partial<WalkFacts> => ({
    network,
    attempt: { ...refused(status, more), credential: "oauth" },
    oauth: { events: [], before: signedIn, authorization, ...oauth },
  });

  test("a token that was just obtained and is refused is a loop, unless it is seen to be for another server", () => {
    expect(codes(byOAuth(401, {}))).toEqual(["sign-in-loop"]);
    const tokens = [token({ from: "oauth", audience: ["https://other.example"], isForServer: false })];
    const [first] = rankCauses({ ...base, ...byOAuth(401, {}, { tokens }) });
    expect(first).toMatchObject({
      cause: "wrong-audience",
      mend: { command: "wirescope logout api --profile work && wirescope login api --profile work" },
    });
  });

  test("metadata that cannot be used goes before the sign-in, which could not succeed", () => {
    const before = { ...signedIn, isSignedIn: false };
    expect(codes(byOAuth(401, { before, authorization: { ...authorization, pkce: undefined } }))).toEqual([
      "pkce-missing",
      "sign-in-needed",
    ]);
  });

  test("a renewal that failed and then succeeded is no cause", () => {
    const text = "";
    const events = [
      { kind: "refresh-failed", severity: "warning", text },
      { kind: "refreshed", severity: "info", text },
    ] as const;
    expect(codes(byOAuth(401, { events }))).toEqual(["sign-in-loop"]);
    expect(codes(byOAuth(401, { events: events.toReversed() }))[0]).toBe("refresh-failing");
  });

  test("what is stored is left alone where the server works", () => {
    expect(
      codes({ network, attempt: { credential: "oauth" }, oauth: { events: [], before: signedIn, authorization } }),
    ).toEqual([]);
  });
});

describe("commands", () => {
  test("[TS-D-WHY-3] quote what a shell would take apart, and take along what was given", () => {
    const trust = { state: "new", words: "" } as const;
    const [cause] = rankCauses({ ...base, server: "my server's", commandArguments: ["--config", "a b.json"], trust });
    expect(cause?.mend.command).toBe("wirescope trust 'my server'\\''s' --config 'a b.json'");
  });
});
