import { describe, expect, test } from "vitest";
import { type Cause, rankCauses } from "./cause-table.js";
import type { FixTarget } from "./fixes.js";
import { explainRefusal, refusalCauses } from "./refusal-causes.js";
import type { HeaderDefect, HeaderEvidence, RefusalEvidence, TokenEvidence } from "./refusal-evidence.js";
import { headerEvidence, now, refusalEvidence, tokenEvidence } from "./refusal-evidence.test.helper.js";

const target: FixTarget = {
  server: "api",
  file: ".mcp.json",
  positions: {
    entry: { line: 3, column: 5 },
    "headers.Authorization": { line: 7, column: 9 },
    "headers.X-Key": { line: 8, column: 9 },
  },
  signInArguments: ["--profile", "work"],
};
const entry = { file: ".mcp.json", line: 3, column: 5 };
const header = { file: ".mcp.json", line: 7, column: 9 };
const helper = { path: "/my plugin/h.sh" };
const login = "wirescope login api --profile work";
const setToken = { command: "export API_TOKEN=…", variable: "API_TOKEN" };
const challenge = { schemes: ["bearer"], error: undefined, description: undefined, scopes: [], resourceMetadata: [] };

/** The causes of a refusal, each of which has advice. */
function causesOf(more: Partial<RefusalEvidence>): Cause[] {
  const causes = refusalCauses(refusalEvidence(more), target);
  for (const { code, fix } of causes) expect(fix.advice, code).toMatch(/^[A-Z].*\.$/);
  return causes;
}
const withHeader = (header: Partial<HeaderEvidence>, more: Partial<RefusalEvidence> = {}): Cause[] =>
  causesOf({ headers: [headerEvidence(header)], ...more });
const codes = (causes: readonly Cause[]): string[] => causes.map(({ code }) => code);
const find = (causes: readonly Cause[], code: string): Cause | undefined => causes.find((cause) => cause.code === code);

describe("the form of a header", () => {
  test.each<[HeaderDefect, string, string, object]>([
    ["placeholder", "variable-placeholder", "contains the placeholder of an example, not a credential.", setToken],
    [
      "no-scheme",
      "scheme-missing",
      'starts with neither "Bearer " nor "Basic ". Servers reject a bare token.',
      { advice: 'Write "Bearer " before the token.', position: header, write: '"Bearer ${API_TOKEN}"' },
    ],
    ["no-credentials", "credentials-malformed", "has no credentials after its scheme.", setToken],
    ["scheme-doubled", "scheme-doubled", "contains its scheme twice.", setToken],
    ["quoted", "credentials-malformed", "has quotes around its token.", { advice: "Remove the quotes.", ...setToken }],
    [
      "basic-not-base64",
      "credentials-malformed",
      "uses Basic, but does not contain the base64 of user:password.",
      setToken,
    ],
  ])("[TS-ERR-2] [TS-D-WHY-3] explains a header with the defect %s as %s", (defect, code, problem, fix) => {
    expect(withHeader({ defect })[0]).toMatchObject({
      code,
      weight: 0.95,
      problem: `Authorization (from API_TOKEN) ${problem}`,
      evidence: ["The server returned 401."],
      fix,
    });
  });

  test("[TS-D-WHY-3] fixes a header in the helper if its value comes from it, and in the entry if it contains no variable", () => {
    const [fromHelper] = withHeader({ defect: "no-scheme", from: "helper", variables: [] }, { helper });
    expect(fromHelper).toMatchObject({
      problem: expect.stringMatching(/^Authorization \(from the helper\) starts/),
      fix: { advice: 'Change the helper. Write "Bearer " before the token.', command: "'/my plugin/h.sh'" },
    });
    const [besideHelper] = withHeader({ defect: "quoted" }, { helper });
    expect(besideHelper?.fix).toMatchObject({ advice: "Remove the quotes.", ...setToken });
    const [literal] = withHeader({ defect: "quoted", variables: [] });
    expect(literal?.problem).toBe("Authorization has quotes around its token.");
    expect(literal?.fix).toEqual({ advice: "Remove the quotes.", position: header });
    const [bare] = withHeader({ defect: "no-scheme", variables: [] });
    expect(bare?.fix.write).toBe('"Bearer ${API_TOKEN}"');
    const [unknown] = withHeader({ defect: "quoted", variables: [], name: "Proxy-Authorization" });
    expect(unknown?.fix.position).toEqual(entry);
  });

  test("blames the spelling of the scheme for a 401, and not for a 403, which only a known user gets", () => {
    const found = (status: number) => find(withHeader({ defect: "scheme-case" }, { status }), "credentials-malformed");
    expect(found(401)?.weight).toBe(0.7);
    expect(found(403)).toBeUndefined();
  });

  test("[TS-D-WHY-3] gives no position in an error, which does not know the file", () => {
    const [cause] = explainRefusal(
      refusalEvidence({ headers: [headerEvidence({ variables: [], defect: "quoted" })] }),
      { server: "api" },
    );
    expect(cause?.fix).toEqual({ advice: "Remove the quotes." });
  });

  test.each<[string | undefined, string[], string | undefined]>([
    ["Bearer", ["bearer"], undefined],
    ["Bearer", ["basic", "Bearer"], undefined],
    ["Bearer", ["custom"], undefined],
    ["Bearer", [], undefined],
    [undefined, ["basic"], undefined],
    ["Bearer", ["basic"], "Basic"],
    ["Bearer", ["custom", "basic"], "Basic"],
    ["Bearer", ["digest", "negotiate", "dpop", "digest"], "Digest or Negotiate or DPoP"],
  ])("[TS-ERR-2] compares the scheme %s with the challenge's %j, and asks for: %s", (scheme, schemes, asked) => {
    const found = find(withHeader({ scheme }, { challenge: { ...challenge, schemes } }), "scheme-differs");
    if (asked === undefined) expect(found).toBeUndefined();
    else
      expect(found).toMatchObject({
        weight: 0.9,
        problem: `Authorization (from API_TOKEN) uses the scheme Bearer, but the server asks for ${asked}.`,
        fix: { advice: `Use the scheme ${asked}.`, position: header },
      });
  });
});

describe("a token in another header than the challenge asks for", () => {
  const key = headerEvidence({ name: "X-Key", scheme: undefined });
  const region = headerEvidence({ name: "X-Region", scheme: undefined, isCredential: false, variables: [] });
  const wrong = (headers: HeaderEvidence[], schemes: string[], more: Partial<RefusalEvidence> = {}) =>
    find(causesOf({ headers, challenge: { ...challenge, schemes }, ...more }), "wrong-header");

  test("[TS-ERR-2] [TS-D-WHY-5] finds a token in another header than the challenge asks for, and says what to write", () => {
    expect(wrong([region, key], ["bearer"])).toMatchObject({
      weight: 0.94,
      problem: "The server asks for Authorization: Bearer, but the token is in X-Key (from API_TOKEN).",
      fix: {
        advice: 'Send the token in Authorization, as "Bearer " and the token, instead of in X-Key.',
        write: '"Authorization": "Bearer ${API_TOKEN}"',
        position: { file: ".mcp.json", line: 8, column: 9 },
      },
    });
    expect(wrong([key], ["basic", "bearer"])?.fix.write).toBe('"Authorization": "Bearer ${API_TOKEN}"');
    expect(wrong([key], ["basic", "digest"])?.fix.write).toBe('"Authorization": "Basic ${API_TOKEN}"');
    expect(wrong([{ ...key, from: "helper", variables: [] }], ["bearer"], { helper })?.fix).toMatchObject({
      advice: expect.stringMatching(/^Change the helper\. Send the token in Authorization/),
      command: "'/my plugin/h.sh'",
    });
  });

  test("[TS-ERR-3] does not blame the header at 403, without a credential, without a known scheme, or with Authorization", () => {
    expect(wrong([key], ["bearer"], { status: 403 })).toBeUndefined();
    expect(wrong([region], ["bearer"])).toBeUndefined();
    expect(wrong([key], [])).toBeUndefined();
    expect(wrong([key], ["bearer", "apikey"])).toBeUndefined();
    expect(wrong([key, headerEvidence({ name: "authorization" })], ["bearer"])).toBeUndefined();
  });

  test("[TS-ERR-2] finds a token in a header whose name only contains Authorization", () => {
    for (const name of ["X-Authorization", "Authorization-Token"])
      expect(wrong([headerEvidence({ name })], ["bearer"])?.problem).toContain(`but the token is in ${name} (from`);
  });
});

describe("the source of a credential", () => {
  const refused = "The credential may be wrong, revoked, or for another environment.";

  test("[TS-ERR-2] [TS-D-WHY-2] names the sources of a rejected credential at 401: the variables of a header, and the helper", () => {
    const headers = [
      headerEvidence({ name: "X-Key", variables: ["A", "B"] }),
      headerEvidence({ name: "X-Fixed", variables: [] }),
      headerEvidence({ name: "X-Tenant", variables: ["TENANT"] }),
      headerEvidence({ name: "X-Signature", from: "helper", variables: [] }),
      headerEvidence({ name: "X-Nonce", from: "helper", variables: [] }),
    ];
    const tenants = [{ header: "X-Tenant", value: "acme" }];
    const sources = (more: Partial<RefusalEvidence> = {}) =>
      causesOf({ headers, tenants, ...more }).filter(({ code, weight }) => code === "token-refused" && weight === 0.5);
    expect(sources({ helper: { ...helper, obtainedAt: now } })).toMatchObject([
      {
        problem: `The server rejects X-Key, which contains A and B. ${refused}`,
        fix: { advice: "Set A to the current credential of this server.", command: "export A=…" },
      },
      {
        problem: `The server rejects X-Signature and X-Nonce, which the helper /my plugin/h.sh returned at 2030-01-01T00:00:00Z. ${refused}`,
        fix: { command: "'/my plugin/h.sh'" },
      },
    ]);
    expect(sources({ helper })[1]?.problem).toContain("the helper /my plugin/h.sh returned. The");
    expect(sources()).toHaveLength(1);
    expect(sources({ helper, headers: headers.slice(0, 3) })).toHaveLength(1);
    expect(sources({ helper, status: 403 })).toEqual([]);
  });

  test("[TS-D-WHY-3] names the variable of the credential, and not that of another header before it", () => {
    const region = headerEvidence({ name: "X-Region", scheme: undefined, variables: ["REGION"], isCredential: false });
    const expired = { ...challenge, error: "insufficient_scope", description: "jwt expired" };
    const found = causesOf({ headers: [region, headerEvidence()], challenge: expired });
    expect(found.filter(({ fix }) => fix.variable !== undefined).map(({ fix }) => fix.variable)).not.toContain(
      "REGION",
    );
    expect(find(found, "token-expired")?.fix).toMatchObject(setToken);
    const custom = causesOf({ headers: [{ ...region, name: "X-Custom", variables: ["CUSTOM"] }] });
    expect(find(custom, "token-refused")?.fix.variable).toBe("CUSTOM");
  });

  test("gives a general cause if nothing is known about the credential", () => {
    expect(causesOf({})).toEqual([
      {
        code: "token-refused",
        weight: 0.2,
        problem: "The server rejects the credential. It may be wrong, revoked, or for another environment.",
        evidence: ["The server returned 401."],
        fix: { advice: "Get a new credential from the operator of the server." },
      },
    ]);
    expect(causesOf({ status: 403 }).map(({ code, weight }) => [code, weight])).toEqual([
      ["permission-missing", 0.5],
      ["approval-needed", 0.25],
    ]);
    expect(causesOf({ status: 500 })).toEqual([]);
  });
});

describe("a request without a credential", () => {
  const bare = (schemes: string[], more: Partial<RefusalEvidence> = {}) =>
    causesOf({ headers: [], challenge: { ...challenge, schemes }, ...more });

  test.each([
    [["bearer"], "Bearer ${API_TOKEN}", " It asks for Bearer."],
    [["basic"], "Basic ${BASIC_CREDENTIALS}", " It asks for Basic."],
    [["basic", "bearer"], "Bearer ${API_TOKEN}", " It asks for Basic or Bearer."],
    [["custom"], "Bearer ${API_TOKEN}", ""],
    [[], "Bearer ${API_TOKEN}", ""],
  ])(
    "[TS-ERR-2] [TS-D-WHY-3] suggests for a request without a credential and the challenge %j the header %s",
    (schemes, value, asked) => {
      expect(bare(schemes)).toMatchObject([
        {
          code: "credential-missing",
          weight: 0.95,
          problem: `The server requires a credential, but the request had none.${asked}`,
          fix: { write: `"headers": {"Authorization": "${value}"}`, position: entry },
        },
      ]);
    },
  );

  test("[TS-ERR-2] takes a header of the entry for that of an API key, unless the challenge asks for another one", () => {
    const headers = [headerEvidence({ name: "X-Notes", scheme: undefined, isCredential: false, variables: ["NOTES"] })];
    expect(codes(bare([], { headers }))).not.toContain("credential-missing");
    expect(bare([], { headers })[0]?.fix.variable).toBe("NOTES");
    expect(codes(bare(["bearer"], { headers }))).toEqual(["token-refused", "credential-missing"]);
    const fromHelper = [{ ...headers[0], from: "helper", variables: [] }] as HeaderEvidence[];
    expect(codes(bare([], { headers: fromHelper, helper }))).not.toContain("credential-missing");
  });

  test("[TS-ERR-2] reports a missing credential even if the request has other headers", () => {
    const headers = [headerEvidence({ name: "X-Region", scheme: undefined, isCredential: false, variables: [] })];
    expect(codes(bare(["bearer"], { headers }))).toEqual(["credential-missing"]);
  });

  test("says that the server does not support OAuth, if that is known", () => {
    expect(bare([], { oauth: "unsupported" })[0]?.problem).toContain("publishes no OAuth metadata");
    expect(bare([])[0]?.problem).not.toContain("OAuth");
  });

  test("[TS-ERR-3] explains a 403 without a credential by permissions", () => {
    const causes = bare([], { status: 403 });
    expect(codes(causes)).toEqual(["permission-missing", "approval-needed"]);
    expect(causes[0]?.problem).toBe("The server does not allow the request, which had no credential.");
    expect(causes[0]?.fix?.advice).toContain("Add a credential");
  });
});

describe("a sign-in with OAuth", () => {
  const signedIn = { oauth: "supported", signIn: { isSignedIn: true, scopes: ["read"] } } as const;

  test("[TS-D-WHY-1] [TS-ERR-2] asks for a sign-in if none is stored", () => {
    const signIn = { isSignedIn: false, scopes: undefined };
    expect(causesOf({ headers: [], oauth: "supported", signIn })).toEqual([
      {
        code: "sign-in-needed",
        weight: 0.9,
        problem: "The server requires a sign-in, and none is stored.",
        evidence: ["The server returned 401."],
        fix: { advice: "Sign in.", command: login },
      },
    ]);
    expect(causesOf({ headers: [], oauth: "supported" })).toEqual([]);
    expect(causesOf(signedIn)).toEqual([]);
  });

  test("[TS-ERR-3] reports a missing permission at 403 without a challenge, and every scope if those of the token are unknown", () => {
    expect(codes(causesOf({ ...signedIn, status: 403 }))).toEqual(["permission-missing", "approval-needed"]);
    const insufficient = { ...challenge, error: "insufficient_scope", scopes: ["read", "write"] };
    const signIn = { isSignedIn: true, scopes: undefined };
    expect(causesOf({ ...signedIn, signIn, status: 403, challenge: insufficient })[0]?.problem).toBe(
      "The token lacks the permission read, write, which the server requires.",
    );
  });

  test.each([
    ["insufficient_scope", ["read", "write", "admin"], ["scope-missing", "permission-missing"]],
    ["insufficient_scope", ["read"], ["permission-missing"]],
    ["access_denied", ["write"], ["permission-missing"]],
  ])("[TS-ERR-3] explains %s for %j at 403 after a sign-in by %j", (error, scopes, expected) => {
    const found = causesOf({ ...signedIn, status: 403, challenge: { ...challenge, error, scopes } });
    expect(codes(found.filter(({ weight }) => weight >= 0.5 && weight !== 0.85))).toEqual(expected);
    if (expected.length > 1)
      expect(found[0]).toMatchObject({
        weight: 0.95,
        problem: "The token lacks the permission write, admin, which the server requires.",
        fix: { command: `${login} --scope read --scope write --scope admin` },
      });
  });

  test("puts no scope of a server into a command if a shell would interpret it", () => {
    const scoped = { ...challenge, error: "insufficient_scope", scopes: ["write", "$(x)"] };
    expect(causesOf({ ...signedIn, status: 403, challenge: scoped })[0]?.fix.command).toBe(`${login} --scope write`);
  });
});

describe("the server's message", () => {
  test("[TS-ERR-3] [TS-D-WHY-3] suggests getting a missing scope from the source of the token", () => {
    const scoped = { ...challenge, error: "insufficient_scope", scopes: ["notes:write", "admin"] };
    const cause = (more: Partial<RefusalEvidence>) =>
      causesOf({ challenge: scoped, ...more }).find(({ code, weight }) => code === "scope-missing" && weight === 0.95);
    expect(cause({})?.problem).toBe("The server requires a permission that the token lacks: notes:write admin.");
    expect(cause({ challenge: { ...scoped, scopes: [] } })?.problem).toContain("that the token lacks.");
    expect(cause({ challenge: { ...scoped, error: "invalid_token" } })).toBeUndefined();
    expect(cause({})?.fix.variable).toBe("API_TOKEN");
    expect(cause({ headers: [headerEvidence({ variables: ["MY_TOKEN"] })] })?.fix.variable).toBe("MY_TOKEN");
    const made = headerEvidence({ from: "helper", variables: [] });
    expect(cause({ helper, headers: [made] })?.fix.command).toBe("'/my plugin/h.sh'");
    const plain = headerEvidence({ name: "X-Region", isCredential: false, variables: [] });
    expect(cause({ helper, headers: [plain, made] })?.fix.command).toBe("'/my plugin/h.sh'");
    expect(cause({ helper })?.fix.variable).toBe("API_TOKEN");
  });

  test("[TS-D-WHY-3] suggests a new token from the same source if the server says that it expired", () => {
    const said = { challenge: { ...challenge, description: "jwt expired" } };
    const fix = (more: Partial<RefusalEvidence>) => find(causesOf({ ...said, ...more }), "token-expired")?.fix;
    expect(fix({ headers: [headerEvidence()] })).toMatchObject(setToken);
    expect(fix({})).toEqual({ advice: "Get a new credential from the operator of the server." });
    expect(fix({ oauth: "supported" })).toMatchObject({ command: login });
  });

  test.each([
    ["Need admin approval", "approval-needed", 0.92],
    ["jwt expired", "token-expired", 0.9],
    ["Invalid audience", "wrong-audience", 0.88],
    ["Unknown tenant", "wrong-tenant", 0.87],
    ["insufficient permissions for tools", "scope-missing", 0.85],
  ])("[TS-D-WHY-1] maps the message %j to %s with the weight %d", (description, code, weight) => {
    const found = explainRefusal(refusalEvidence({ status: 403, challenge: { ...challenge, description } }), target);
    expect(found[0]).toMatchObject({ code, weight });
  });

  test("[TS-D-WHY-2] quotes as evidence the response with its title or text, and the challenge", () => {
    const response = {
      method: "POST",
      path: "/mcp",
      status: 401,
      mediaType: "text/html",
      title: undefined,
      excerpt: "",
      location: undefined,
      retryAfter: undefined,
    };
    const evidence = (more: Partial<typeof response> | object, error?: string, description?: string) =>
      causesOf({ response: { ...response, ...more }, challenge: { ...challenge, error, description } })[0]?.evidence;
    const first = "POST /mcp returned 401 (text/html)";
    expect(evidence({ excerpt: "No." })).toEqual([`${first}.`, "The response says: No."]);
    expect(evidence({ mediaType: "" })).toEqual(["POST /mcp returned 401."]);
    expect(evidence({ title: "Denied", excerpt: "No." })).toEqual([`${first}, a page titled "Denied".`]);
    expect(evidence({ title: "" })).toEqual([`${first}, a page.`]);
    expect(evidence({ location: "https://b.example" })).toEqual([`${first}, a redirect to https://b.example.`]);
    expect(evidence({}, "invalid_token", "It is old")).toEqual([
      `${first}.`,
      "The challenge says: invalid_token: It is old.",
    ]);
    expect(evidence({}, "invalid_token")?.at(-1)).toBe("The challenge says: invalid_token.");
    expect(evidence({}, undefined, "Use v2.1 tokens.")?.at(-1)).toBe("The challenge says: Use v2.1 tokens.");
    expect(find(causesOf({ response: { ...response, excerpt: "jwt expired" } }), "token-expired")).toBeDefined();
    const page = { ...response, title: "Unknown tenant" } as unknown as RefusalEvidence["response"];
    expect(find(causesOf({ response: page }), "wrong-tenant")).toBeDefined();
  });
});

describe("a tenant", () => {
  const tenants = [{ header: "X-Tenant", value: "acme" }];

  test("[TS-ERR-3] [TS-D-WHY-2] reports a tenant that the token does not belong to, with both tenants", () => {
    const claims = [
      { claim: "tid", value: "globex" },
      { claim: "org", value: "initech" },
    ];
    const wrong = (value: string) =>
      find(
        causesOf({
          tokens: [tokenEvidence({ tenants: claims })],
          tenants: [{ header: "X-Tenant", value }],
          tenantVariables: ["TENANT"],
        }),
        "wrong-tenant",
      );
    expect(wrong("acme")).toMatchObject({
      weight: 0.9,
      problem: 'X-Tenant selects "acme", but the token belongs to another tenant.',
      evidence: ["The server returned 401.", 'X-Tenant: acme; the token has tid "globex", org "initech".'],
      fix: { command: "export TENANT=…" },
    });
    expect(wrong("initech")).toBeUndefined();
  });

  test("[TS-ERR-3] considers a tenant that a header selects, and more so one that a variable selects at 403", () => {
    expect(causesOf({ tenants }).filter(({ code }) => code === "wrong-tenant")).toMatchObject([
      {
        weight: 0.3,
        problem: "X-Tenant selects a tenant. The credential may belong to another one.",
        evidence: ["The server returned 401."],
        fix: { position: entry },
      },
    ]);
    const tenantVariables = ["TENANT", "TENANT"];
    expect(find(causesOf({ status: 403, tenantVariables }), "wrong-tenant")).toMatchObject({
      weight: 0.45,
      problem: "TENANT selects the tenant or workspace. The credential may belong to another one.",
    });
    expect(find(causesOf({ tenantVariables }), "wrong-tenant")).toBeUndefined();
    expect(find(causesOf({}), "wrong-tenant")).toBeUndefined();
  });
});

describe("the claims of a token", () => {
  const minute = 60_000;
  const seen = (token: Partial<TokenEvidence>, more: Partial<RefusalEvidence> = {}) =>
    causesOf({ ...more, tokens: [tokenEvidence(token)] }).filter(({ code }) => code !== "token-refused");

  test("[TS-ERR-2] [TS-D-WHY-2] shows that a token expired, from its last moment on", () => {
    const [cause] = seen({ issuedAt: now - 10 * minute, expiresAt: now - 5 * minute });
    expect(cause).toMatchObject({
      code: "token-expired",
      weight: 0.97,
      problem:
        "The token in Authorization (from API_TOKEN) expired at 2029-12-31T23:55:00Z, 5 min ago by the server's clock.",
      fix: { advice: "Get a new token and set API_TOKEN.", ...setToken },
    });
    expect(cause?.evidence).toEqual([
      "The server returned 401.",
      "The token: issued 2029-12-31T23:50:00Z, valid from 2029-12-31T23:50:00Z until 2029-12-31T23:55:00Z.",
      "Local clock: 2030-01-01T00:00:00Z; server clock: 2030-01-01T00:00:00Z.",
    ]);
    expect(codes(seen({ expiresAt: now }))).toEqual(["token-expired"]);
    expect(codes(seen({ expiresAt: now + 1 }))).toEqual([]);
    expect(seen({ expiresAt: now })[0]?.evidence.join()).toContain("issued at an unknown time");
  });

  test("[TS-D-WHY-2] shows that a token is not valid yet", () => {
    const [cause] = seen({ issuedAt: now - minute, notBefore: now + 5 * minute });
    expect(cause).toMatchObject({ code: "token-not-yet-valid", weight: 0.97, fix: { command: "date -u" } });
    expect(cause?.problem).toContain("not valid until 2030-01-01T00:05:00Z, in 5 min by");
    expect(cause?.evidence.join()).toContain("valid from 2030-01-01T00:05:00Z until");
    expect(codes(seen({ notBefore: now }))).toEqual([]);
    expect(codes(seen({ issuedAt: now + 1000, expiresAt: now + 2000 }))).toEqual(["token-not-yet-valid"]);
    expect(seen({ notBefore: now + minute }, { skewMs: -minute })[0]?.weight).toBe(0.97);
    expect(seen({ notBefore: now - minute }, { skewMs: -2 * minute })[0]?.weight).toBe(0.8);
  });

  test.each([
    [undefined, undefined],
    [30_000, undefined],
    [-30_000, undefined],
    [5 * minute, "5 min ahead of"],
    [-5 * minute, "5 min behind"],
  ])("[TS-D-WHY-1] reports a clock difference of %s ms as relevant to a token: %s", (skewMs, expected) => {
    const found = seen({ expiresAt: now + 60 * minute }, { skewMs });
    expect(codes(found)).toEqual(expected === undefined ? [] : ["clock-skew"]);
    if (expected === undefined) return;
    expect(found[0]).toMatchObject({ weight: 0.4, fix: { command: "date -u" } });
    expect(found[0]?.problem).toContain(`The server's clock is ${expected} the local clock`);
  });

  test("[TS-D-WHY-1] blames the clocks if a token is expired by only one of them", () => {
    const found = seen({ expiresAt: now + minute }, { skewMs: 5 * minute });
    expect(found.map(({ code, weight }) => [code, weight])).toEqual([
      ["token-expired", 0.8],
      ["clock-skew", 0.98],
    ]);
    const early = seen({ notBefore: now - minute }, { skewMs: -5 * minute });
    expect(early.map(({ code, weight }) => [code, weight])).toEqual([
      ["token-not-yet-valid", 0.8],
      ["clock-skew", 0.98],
    ]);
  });

  test.each<[string, Partial<TokenEvidence>, object]>([
    ["the helper", { from: "helper", variables: [] }, { command: "'/my plugin/h.sh'" }],
    ["the sign-in", { from: "oauth", variables: [] }, { command: login }],
    ["A and B", { variables: ["A", "B"] }, { command: "export A=…" }],
  ])("[TS-D-WHY-3] renews a token from %s at its source", (origin, more, fix) => {
    const [cause] = seen({ expiresAt: now, ...more }, { helper });
    expect(cause?.problem).toContain(`Authorization (from ${origin}) expired`);
    expect(cause?.fix).toMatchObject(fix);
  });

  test("[TS-D-WHY-3] names no variable to set for a token that is written in the entry", () => {
    const [cause] = seen({ expiresAt: now, variables: [] });
    expect(cause?.problem).toContain("The token in Authorization expired");
    expect(cause?.fix).toEqual({ advice: "Get a new token." });
  });

  test("[TS-D-WHY-2] shows another audience than the published resource, or the host", () => {
    const audience = ["api://a", "https://b.example"];
    const host = "api.example.com, port 443";
    expect(seen({ audience }, { host })).toMatchObject([
      {
        code: "wrong-audience",
        weight: 0.35,
        problem: expect.stringContaining(
          'is for "api://a", "https://b.example", but the server is api.example.com, port',
        ),
        fix: { advice: "Get a token that was issued for this server, and set it.", ...setToken },
      },
    ]);
    expect(seen({ audience })[0]?.evidence.at(-1)).toBe(
      'The audience (aud) of the token: "api://a", "https://b.example".',
    );
    const resource = "https://api.example.com/mcp";
    expect(seen({ audience }, { host, resource })[0]).toMatchObject({
      weight: 0.9,
      problem: expect.stringContaining("but the server is https://api.example.com/mcp."),
    });
    expect(seen({ audience, isForServer: false })[0]?.weight).toBe(0.9);
    expect(seen({ audience, from: "oauth" })[0]?.fix.command).toBe(`wirescope logout api --profile work && ${login}`);
    expect(seen({ audience, isForServer: true })).toEqual([]);
    expect(seen({ audience: [resource] }, { resource })).toEqual([]);
  });

  test("[TS-ERR-2] shows which scopes a token lacks", () => {
    const scoped = { ...challenge, error: "insufficient_scope", scopes: ["a", "b", "c"] };
    const missing = (scopes: string[] | undefined, error: string | undefined = scoped.error) =>
      seen({ scopes }, { challenge: { ...scoped, error } }).filter(({ problem }) =>
        /^The token in .* lacks/.test(problem),
      );
    expect(missing(["b"])).toMatchObject([
      {
        code: "scope-missing",
        weight: 0.95,
        problem: "The token in Authorization (from API_TOKEN) lacks a, c, which the server requires.",
        fix: { ...setToken, advice: "Get a token with this permission." },
      },
    ]);
    expect(missing([])[0]?.evidence.at(-1)).toBe("The token has: none.");
    expect(missing(["a", "b", "c"])).toEqual([]);
    expect(missing(undefined)).toEqual([]);
    expect(missing([], "invalid_token")).toEqual([]);
    expect(seen({ scopes: [] }, { challenge: { ...scoped, error: undefined } })).toEqual([]);
    expect(seen({ scopes: [] })).toEqual([]);
  });
});

test("[TS-D-WHY-1] [TS-D-WHY-2] ranks the likeliest cause first, each once, with the evidence of everything that points to it", () => {
  const cause = (code: Cause["code"], weight: number, ...evidence: string[]): Cause => ({
    code,
    weight,
    problem: `${code} ${weight}`,
    evidence,
    fix: { advice: "" },
  });
  const ranked = rankCauses([
    cause("token-refused", 0.2, "a"),
    cause("clock-skew", 0.5),
    cause("token-refused", 0.5, "b", "a"),
    cause("token-refused", 0.5, "c"),
    cause("variable-unset", 1),
    cause("variable-unset", 0.9),
    cause("entry-invalid", 0.4),
    cause("entry-invalid", 0.3),
    cause("child-lacks-variable", 0.2),
    cause("child-lacks-variable", 0.1),
  ]);
  expect(ranked.map(({ problem, evidence }) => [problem, evidence])).toEqual([
    ["variable-unset 1", []],
    ["variable-unset 0.9", []],
    ["token-refused 0.5", ["b", "a", "c"]],
    ["clock-skew 0.5", []],
    ["entry-invalid 0.4", []],
    ["entry-invalid 0.3", []],
    ["child-lacks-variable 0.2", []],
    ["child-lacks-variable 0.1", []],
  ]);
});
