import { describe, expect, test } from "vitest";
import type { Cause } from "../../causes/cause-table.js";
import type { RefusalEvidence } from "../../causes/refusal-evidence.js";
import type {
  AuthorizationServerEvidence,
  ClientEvidence,
  FailureEvidence,
  OAuthEvidence,
  ResourceEvidence,
  WalkEvidence,
} from "../evidence.js";
import { base, now, oauthEvent, refused } from "./evidence.test.helper.js";
import { signInCauses, signInFailureCauses } from "./sign-in-causes.js";

const issuer = "https://as.example";
const before = {
  isSignedIn: true,
  issuer,
  account: undefined,
  scopes: ["read"],
  expiresAt: now + 3_600_000,
  obtainedAt: now - 3_600_000,
  canRefresh: true,
  pausedUntil: undefined,
  tokenType: "Bearer" as const,
};
const authorization: AuthorizationServerEvidence = {
  outcome: "found",
  evidence: ["It was read."],
  expectedIssuer: issuer,
  publishedIssuer: issuer,
  pkce: ["S256"],
  endpoints: [],
  scopes: undefined,
  takesMetadataDocuments: false,
  sendsIssuer: true,
  changedFrom: undefined,
};
const resource: ResourceEvidence = {
  outcome: "found",
  evidence: ["It was found."],
  resource: "https://api.example",
  scopes: undefined,
};
const challenge = { schemes: ["bearer"], error: undefined, description: undefined, scopes: [], resourceMetadata: [] };
const login = "wirescope login api --profile work";
const again = `wirescope logout api --profile work && ${login}`;
const client = '"api": {"clientId": "…"}';

function causesOf(oauth: Partial<OAuthEvidence>, status = 401, more: Partial<RefusalEvidence> = {}): Cause[] {
  const causes = signInCauses({
    ...base,
    attempt: { ...refused(status, more), credential: "oauth" },
    oauth: { events: [], before, authorization, ...oauth },
  });
  for (const { code, fix } of causes) expect(fix.advice, code).toMatch(/^[A-Z].*\.$/);
  return causes;
}
const codes = (causes: readonly Cause[]): string[] => causes.map(({ code }) => code);

describe("the metadata of an authorization server", () => {
  const endpoint = { name: "token_endpoint", url: "http://as.example/token", defect: "it is not encrypted" };

  test.each<[string, Partial<AuthorizationServerEvidence>, string[]]>([
    ["is valid", {}, []],
    ["cannot be read", { outcome: "failed" }, ["metadata-unreachable"]],
    ["is missing", { outcome: "absent" }, ["metadata-missing"]],
    ["is absent in the oldest revision", { outcome: "default", pkce: undefined }, []],
    ["names another issuer", { outcome: "invalid", publishedIssuer: "https://b.example" }, ["issuer-mismatch"]],
    ["names an unsafe endpoint", { outcome: "invalid", endpoints: [endpoint] }, ["endpoint-unsafe"]],
    ["is invalid otherwise", { outcome: "invalid" }, ["metadata-invalid"]],
    [
      "names an unsafe endpoint and no issuer",
      { outcome: "invalid", endpoints: [endpoint], publishedIssuer: undefined },
      ["endpoint-unsafe"],
    ],
    ["is invalid and has no PKCE", { outcome: "invalid", pkce: undefined }, ["metadata-invalid"]],
    ["has other PKCE", { pkce: ["plain"] }, ["pkce-missing"]],
    ["has no PKCE", { pkce: undefined }, ["pkce-missing"]],
    ["has another issuer than before", { changedFrom: "https://old.example" }, ["issuer-changed"]],
    [
      "has another issuer than before, and is missing",
      { changedFrom: "https://old.example", outcome: "absent" },
      ["issuer-changed", "metadata-missing"],
    ],
  ])("[TS-D-WHY-1] finds the causes in metadata that %s", (_, look, expected) => {
    const causes = causesOf({ authorization: { ...authorization, ...look } });
    expect(codes(causes)).toEqual([...expected, "token-expired"]);
    for (const { evidence, weight } of causes.slice(0, -1)) {
      expect(evidence).toEqual(["It was read."]);
      expect(weight).toBeGreaterThanOrEqual(0.98);
    }
  });

  test("[TS-D-WHY-3] suggests signing in if the authorization server changed or cannot be reached, and a setting if its issuer differs", () => {
    const fixOf = (look: Partial<AuthorizationServerEvidence>) =>
      causesOf({ authorization: { ...authorization, ...look } })[0]?.fix;
    expect(fixOf({ outcome: "failed" })).toMatchObject({ command: login });
    const mismatch = fixOf({ outcome: "invalid", publishedIssuer: "https://b.example" });
    expect(mismatch?.advice).toContain("set it as issuer in the settings");
    const changed = fixOf({ changedFrom: "https://old.example" });
    expect(changed).toMatchObject({ advice: expect.stringContaining("If the change is intended"), command: login });
  });

  test("[TS-D-WHY-2] lists each unsafe endpoint, and no other", () => {
    const good = { name: "jwks_uri", url: "https://as.example/keys", defect: undefined };
    const [cause] = causesOf({ authorization: { ...authorization, outcome: "invalid", endpoints: [good, endpoint] } });
    expect(cause?.problem).toContain("use: token_endpoint (http://as.example/token): it is not encrypted.");
  });

  test("[TS-D-WHY-2] lists the supported PKCE methods", () => {
    const message = (pkce: string[] | undefined) => causesOf({ authorization: { ...authorization, pkce } })[0]?.problem;
    expect(message(["plain", "S512"])).toContain("supports only PKCE plain, S512.");
    expect(message([])).toContain("supports only PKCE nothing.");
    expect(message(undefined)).toContain("lists no PKCE methods.");
  });

  test("[TS-D-WHY-1] ranks metadata of another resource first", () => {
    const [cause] = causesOf({ resource: { ...resource, outcome: "foreign" } });
    expect(cause).toMatchObject({ code: "resource-mismatch", weight: 0.98, fix: { position: { line: 5 } } });
    expect(codes(causesOf({ resource }))).not.toContain("resource-mismatch");
  });

  test("ignores metadata if nothing was refused", () => {
    const oauth = { events: [], before, authorization: { ...authorization, outcome: "absent" as const } };
    expect(signInCauses({ ...base, attempt: { credential: "oauth" }, oauth })).toEqual([]);
    expect(signInCauses({ ...base, attempt: refused(401) })).toEqual([]);
  });
});

describe("a client", () => {
  const look = (more: Partial<ClientEvidence>): Partial<OAuthEvidence> => ({
    client: {
      kind: "registered",
      outcome: "accepted",
      redirectUri: "http://127.0.0.1/cb",
      evidence: ["Asked."],
      ...more,
    },
  });

  test.each<[Partial<ClientEvidence>, string, object]>([
    [{ outcome: "dead" }, "client-dead", { command: login }],
    [{ outcome: "dead", kind: "configured" }, "client-dead", { write: client }],
    [{ outcome: "redirect-mismatch" }, "redirect-mismatch", { command: again }],
    [
      { outcome: "redirect-mismatch", kind: "configured" },
      "redirect-mismatch",
      { advice: "Register exactly this redirect URI (http://127.0.0.1/cb) for the client." },
    ],
    [{ outcome: "closed", kind: "none" }, "registration-refused", { write: client }],
  ])("[TS-D-WHY-3] explains a client with %o as %s", (more, expected, fix) => {
    expect(causesOf(look(more))[0]).toMatchObject({ code: expected, evidence: ["Asked."], fix });
  });

  test.each(["accepted", "to-register", "unclear"] as const)("finds no cause in a client that is %s", (outcome) => {
    expect(codes(causesOf(look({ outcome })))).toEqual(["token-expired"]);
  });
});

describe("a stored token that the server rejects", () => {
  test.each<[Parameters<typeof oauthEvent>[0][], number, string[]]>([
    [[], 600_000, ["token-expired"]],
    [[], 599_999, ["sign-in-loop"]],
    [["refreshed"], 600_000, ["sign-in-loop"]],
    [["tokens-dropped"], 600_000, ["refresh-token-dead", "token-expired"]],
    [["refresh-failed"], 600_000, ["refresh-failing", "token-expired"]],
    [["refresh-failed", "tokens-dropped"], 600_000, ["refresh-token-dead", "token-expired"]],
  ])(
    "[TS-D-WHY-1] explains a rejected token after %j, %i ms after it was obtained, as %j",
    (events, ageMs, expected) => {
      const found = causesOf({ events: events.map(oauthEvent), before: { ...before, obtainedAt: now - ageMs } });
      expect(codes(found)).toEqual(expected);
      const renewal = found.find(({ code }) => code.startsWith("refresh-"));
      if (renewal !== undefined) expect(renewal.evidence).toEqual([`${events.at(-1)}.`]);
      const verb = renewal?.code === "refresh-failing" ? "ping" : "login";
      if (renewal !== undefined) expect(renewal.fix.command).toBe(`wirescope ${verb} api --profile work`);
      const [last] = found.slice(-1);
      expect(last?.fix.command).toBe(last?.code === "sign-in-loop" ? again : login);
    },
  );

  test("[TS-D-WHY-1] considers a loop more likely after a refresh than by the age of the token", () => {
    const weight = (kinds: "refreshed"[], obtainedAt = now) =>
      causesOf({ events: kinds.map(oauthEvent), before: { ...before, obtainedAt } })[0]?.weight;
    expect(weight([])).toBe(0.86);
    expect(weight(["refreshed"])).toBe(0.89);
  });

  test("[TS-ERR-3] does not blame the age of a token after a 403", () => {
    expect(causesOf({ before: { ...before, obtainedAt: now } }, 403)).toEqual([]);
  });

  test("ignores an earlier failure of a refresh if the server works", () => {
    for (const kind of ["tokens-dropped", "refresh-failed"] as const) {
      const oauth = { events: [oauthEvent(kind)], before, authorization };
      expect(signInCauses({ ...base, attempt: { credential: "oauth" }, oauth })).toEqual([]);
      expect(signInCauses({ ...base, oauth })).toEqual([]);
    }
  });

  test("[TS-D-WHY-2] describes a rejected token by the refresh, or its age", () => {
    const message = (kinds: "refreshed"[], obtainedAt = 0) =>
      causesOf({ events: kinds.map(oauthEvent), before: { ...before, obtainedAt } })[0]?.problem;
    expect(message(["refreshed"])).toContain("was just refreshed");
    expect(message([], now - 60_000)).toContain(
      "was obtained 60 s ago: signing in again and again would not help. The",
    );
  });

  test("[TS-D-WHY-2] describes a stored token with its issuer, times and scopes", () => {
    const stored = (more: Partial<typeof before> | object) =>
      causesOf({ before: { ...before, ...more } })[0]?.evidence.at(-1);
    expect(stored({})).toBe(
      "Stored token: issued by https://as.example, obtained at 2029-12-31T23:00:00Z, valid until 2030-01-01T01:00:00Z, with the scopes read, with a refresh token.",
    );
    expect(stored({ obtainedAt: undefined, expiresAt: now, scopes: [], canRefresh: false })).toBe(
      "Stored token: issued by https://as.example, expired 2030-01-01T00:00:00Z, without a refresh token.",
    );
    expect(stored({ expiresAt: undefined, scopes: undefined })).toContain("of unknown expiry, with a refresh token.");
  });

  test("[TS-D-WHY-1] reports an unreadable vault with or without a sign-in", () => {
    const vaultFailure = { code: "VAULT_FAILED", message: "The key is wrong." } as unknown as FailureEvidence;
    const expected = {
      code: "vault-unreadable",
      weight: 1,
      problem: "The key is wrong.",
      evidence: [],
      fix: { command: "wirescope auth api --profile work" },
    };
    expect(causesOf({ vaultFailure })[0]).toMatchObject(expected);
    expect(causesOf({ vaultFailure, before: undefined, authorization: undefined })).toMatchObject([expected]);
  });
});

describe("a server without signs of OAuth", () => {
  const nothing = { before: undefined, authorization: { ...authorization, outcome: "default" as const } };

  test.each([
    [401, ["bearer"], ["sign-in-needed"]],
    [401, ["DPoP"], ["sign-in-needed"]],
    [401, ["basic"], []],
    [401, ["bearer-like"], []],
    [403, ["bearer"], []],
  ])("[TS-D-WHY-1] explains %i with %j, without signs of OAuth, as %j", (status, schemes, expected) => {
    const causes = causesOf(nothing, status, { challenge: { ...challenge, schemes } });
    expect(codes(causes)).toEqual(expected);
    expect(causes.every(({ fix }) => fix.command === login)).toBe(true);
  });

  test.each<[string, Partial<OAuthEvidence>, Partial<typeof challenge>, boolean]>([
    ["a challenge that names metadata", nothing, { resourceMetadata: ["https://a.example/m"] as never[] }, true],
    ["metadata of the resource", { ...nothing, resource }, {}, true],
    ["metadata of another resource", { ...nothing, resource: { ...resource, outcome: "foreign" } }, {}, true],
    ["metadata of the authorization server", { before: undefined }, {}, true],
    [
      "invalid metadata that names an issuer",
      { before: undefined, authorization: { ...authorization, outcome: "invalid" } },
      {},
      true,
    ],
    [
      "invalid metadata that names an endpoint",
      {
        before: undefined,
        authorization: {
          ...authorization,
          outcome: "invalid",
          publishedIssuer: undefined,
          endpoints: [{ name: "token_endpoint", url: "https://as.example/token", defect: undefined }],
        },
      },
      {},
      true,
    ],
    ["no metadata of the resource", { ...nothing, resource: { ...resource, outcome: "absent" } }, {}, false],
    [
      "any JSON in place of metadata",
      { before: undefined, authorization: { ...authorization, outcome: "invalid", publishedIssuer: undefined } },
      {},
      false,
    ],
    [
      "metadata that could not be read",
      { before: undefined, authorization: { ...authorization, outcome: "failed" } },
      {},
      true,
    ],
    ["metadata that was not requested", { before: undefined, authorization: undefined }, { schemes: [] }, false],
  ])("[TS-D-WHY-2] decides whether a server supports OAuth from %s", (_, seen, more, isOAuth) => {
    const found = codes(causesOf(seen, 401, { challenge: { ...challenge, ...more } }));
    const isPossible = found.includes("sign-in-needed");
    expect(isPossible).toBe(!isOAuth && (more.schemes ?? challenge.schemes).length > 0);
  });
});

describe("a sign-in that failed before", () => {
  const failed = (failure: Partial<FailureEvidence>, more: Partial<WalkEvidence> = {}) =>
    signInFailureCauses({ ...base, earlier: { code: "SIGN_IN_FAILED", message: "It failed.", ...failure }, ...more });

  test.each<[FailureEvidence["code"], string, string, object]>([
    ["SIGN_IN_FAILED", "", "sign-in-failed", { advice: "Sign in again.", command: login }],
    ["TOKEN_REFUSED", "", "token-refused", { command: login }],
    ["REGISTRATION_REFUSED", "", "registration-refused", { write: client }],
    [
      "ISSUER_CHANGED",
      "",
      "issuer-changed",
      { advice: expect.stringContaining("If the change is intended"), command: login },
    ],
    ["SIGN_IN_FAILED", "invalid redirect_uri", "redirect-mismatch", { command: again }],
    ["SIGN_IN_FAILED", "redirectUri mismatch", "redirect-mismatch", { command: again }],
    ["REGISTRATION_REFUSED", "Redirect URL not allowed", "redirect-mismatch", { command: again }],
    ["ISSUER_CHANGED", "redirect_uri", "issuer-changed", { command: login }],
    [
      "SIGN_IN_FAILED",
      "Admin consent required",
      "approval-needed",
      { advice: expect.stringContaining("administrator") },
    ],
  ])("[TS-D-WHY-3] explains an earlier sign-in that failed with %s (%s) as %s", (code, said, expected, fix) => {
    expect(failed({ code, said })).toMatchObject([
      {
        code: expected,
        weight: 0.95,
        problem: "It failed.",
        evidence: ["The last sign-in failed with this error."],
        fix,
      },
    ]);
  });

  test.each([
    [
      "AADSTS9010010: The resource parameter doesn't match.",
      undefined,
      "resource-rejected",
      '"oauth": {"resource": false}',
    ],
    ["AADSTS901002: 'resource' is not supported.", undefined, "resource-rejected", '"oauth": {"resource": false}'],
    ["AADSTS650053: asked for a scope", undefined, "scope-unknown", '"oauth": {"scopes": ["api://…/…"]}'],
    ["AADSTS65001: not consented", undefined, "approval-needed", '"oauth": {"prompt": "consent"}'],
    ["AADSTS90094: admin permission", undefined, "approval-needed", undefined],
    [
      "access_denied",
      "https://accounts.google.com",
      "approval-needed",
      '"oauth": {"clientId": "…", "clientSecret": "${…}"}',
    ],
    [
      "access_denied: Service not found: https://x",
      undefined,
      "audience-unknown",
      '"oauth": {"authorizeParameters": {"audience": "…"}}',
    ],
  ])("[TS-D-OAUTH-11] explains %s of the issuer %s as %s, with what to write", (said, from, code, write) => {
    const earlier = { code: "SIGN_IN_FAILED", message: "It failed.", said, issuer: from } as const;
    expect(signInFailureCauses({ ...base, earlier })).toMatchObject([
      { code, weight: 0.95, fix: { position: { file: ".mcp.json", line: 3, column: 5 } } },
    ]);
    expect(signInFailureCauses({ ...base, earlier })[0]?.fix.write).toBe(write);
  });

  test("[TS-D-OAUTH-11] explains the rejection of a new Auth0 token by its missing audience", () => {
    const auth0 = { ...before, issuer: "https://acme.us.auth0.com/", obtainedAt: now - 1000 };
    expect(causesOf({ before: auth0 })).toMatchObject([
      { code: "wrong-audience", fix: { write: '"oauth": {"authorizeParameters": {"audience": "…"}}' } },
    ]);
  });

  test("[TS-D-OAUTH-11] reports no missing PKCE if it is assumed", () => {
    expect(codes(causesOf({ authorization: { ...authorization, pkce: undefined, assumesPkce: true } }))).not.toContain(
      "pkce-missing",
    );
  });

  test("repeats the advice of a token request without a user, whom no sign-in would help", () => {
    const advice = "Check clientId.";
    const attempt = { credential: "oauth", failure: { code: "TOKEN_REFUSED", message: "No.", advice } } as const;
    expect(signInFailureCauses({ ...base, attempt })[0]?.fix).toEqual({ advice });
  });

  test("considers a failed token request during the walk, if the walk used OAuth", () => {
    const attempt = { failure: { code: "TOKEN_REFUSED", message: "No." } } as const;
    const during = [{ code: "token-refused", evidence: ["The token request failed with this error."] }];
    expect(signInFailureCauses({ ...base, attempt: { credential: "oauth", ...attempt } })).toMatchObject(during);
    expect(signInFailureCauses({ ...base, attempt: { credential: "headers", ...attempt } })).toEqual([]);
    expect(failed({ code: "CALL_TIMEOUT" })).toEqual([]);
  });
});
