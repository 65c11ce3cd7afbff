import { describe, expect, test } from "vitest";
import type { RefusalFinding } from "../../refusal-finding.js";
import type { Cause } from "../explanation.js";
import type { AttemptFacts, RefusalFacts, TokenFacts, WalkFacts } from "../facts.js";
import { base, network, now, refused, token } from "./facts.test.helper.js";
import { refusalCauses } from "./refusal-causes.js";

const places = { ...base.places, "headers.Authorization": { line: 7, column: 9 } };
const entry = { file: ".mcp.json", line: 3, column: 5 };
const header = { file: ".mcp.json", line: 7, column: 9 };
const helper = { path: "/my plugin/h.sh", outcome: "exited", durationMs: 1, headers: ["authorization"] } as const;
const login = "wirescope login api --profile work";
const setToken = { command: "export API_TOKEN=…", variable: "API_TOKEN" };
const finding = (cause: RefusalFinding["cause"], more: Partial<RefusalFinding> = {}): RefusalFinding => ({
  cause,
  weight: "check",
  message: "It is so.",
  header: "Authorization",
  variables: ["API_TOKEN"],
  ...more,
});

function causesOf(
  refusal: Partial<RefusalFacts> & { status?: number },
  facts: Partial<WalkFacts> = {},
  attempt: Partial<AttemptFacts> = {},
): Cause[] {
  return refusalCauses({
    ...base,
    places,
    attempt: { ...refused(refusal.status ?? 401, refusal), ...attempt },
    ...facts,
  });
}
const codes = (causes: readonly Cause[]): string[] => causes.map(({ cause }) => cause);

describe("a finding of the credential", () => {
  test.each<[RefusalFinding["cause"], string, object]>([
    ["placeholder", "variable-placeholder", setToken],
    ["scheme-missing", "scheme-missing", { place: header, write: '"Bearer ${API_TOKEN}"' }],
    ["credentials-malformed", "credentials-malformed", setToken],
    ["scheme-differs", "scheme-differs", { place: header }],
    ["wrong-header", "wrong-header", { place: header, write: '"Authorization": "Bearer ${API_TOKEN}"' }],
    ["token-expired", "token-expired", setToken],
    ["token-not-yet-valid", "token-not-yet-valid", setToken],
    ["clock-skew", "clock-skew", setToken],
    ["tenant", "wrong-tenant", setToken],
  ])("[TS-D-WHY-3] %s is %s", (cause, expected, mend) => {
    const [first] = causesOf({ findings: [finding(cause)] });
    expect(first).toMatchObject({ cause: expected, message: "It is so.", mend });
    expect(first?.evidence).toEqual(["POST /mcp was answered with 401."]);
  });

  test.each(["nothing-sent", "server-says"] as const)("%s is no cause by itself", (cause) => {
    expect(codes(causesOf({ findings: [finding(cause)] }))).toEqual(["token-refused"]);
  });

  test.each(["token-expired", "token-not-yet-valid", "clock-skew"] as const)(
    "%s is left to the token if that can be read",
    (cause) => {
      expect(codes(causesOf({ findings: [finding(cause)], tokens: [token({})] }))).toEqual(["token-refused"]);
    },
  );

  test("[TS-D-WHY-2] of a variable or a helper says where the credential comes from", () => {
    const variables = ["A", "B"];
    const [first] = causesOf({ findings: [finding("variable", { variables })] });
    expect(first?.message).toMatch(/^The server does not accept Authorization, which is made of A and B\./);
    expect(first?.mend).toMatchObject({ command: "export A=…" });
    const [second] = causesOf({ findings: [finding("helper", { header: undefined, variables: [] })] }, { helper });
    expect(second?.message).toMatch(/^The server does not accept the credential, which the helper gives\./);
    expect(second?.mend.command).toBe("'/my plugin/h.sh'");
  });

  test.each([
    ["wrong-header", "Let the helper write Authorization"],
    ["scheme-missing", 'Let the helper write "Bearer "'],
  ] as const)("[TS-D-WHY-3] %s is fixed in the helper, if the header comes from there", (cause, what) => {
    const [first] = causesOf({ findings: [finding(cause, { variables: [] })] }, { helper });
    expect(first?.mend).toMatchObject({ what: expect.stringContaining(what), command: "'/my plugin/h.sh'" });
    const others = { ...helper, headers: ["X-Signature"] };
    const [own] = causesOf({ findings: [finding(cause, { variables: [] })] }, { helper: others });
    expect(own?.mend).toMatchObject({ place: header, write: expect.stringContaining("${API_TOKEN}") });
  });

  test("[TS-D-WHY-3] of a scope asks for it where the token comes from", () => {
    const scope = finding("scope-missing", { header: undefined, variables: [] });
    expect(causesOf({ findings: [scope] }, { helper })[0]?.mend.command).toBe("'/my plugin/h.sh'");
    const origin = finding("variable", { variables: ["MY_TOKEN"] });
    const findings = [scope, finding("variable", { variables: [] }), origin];
    expect(causesOf({ findings })[0]?.mend.variable).toBe("MY_TOKEN");
    expect(causesOf({ findings: [scope] })[0]?.mend.variable).toBe("API_TOKEN");
  });

  test("[TS-D-WHY-3] without a variable is corrected in the header", () => {
    const [first] = causesOf({ findings: [finding("credentials-malformed", { variables: [] })] });
    expect(first?.mend).toEqual({ what: "Correct the value.", place: header });
    const nowhere = finding("credentials-malformed", { variables: [], header: undefined });
    expect(causesOf({ findings: [nowhere] })[0]?.mend.place).toEqual(entry);
  });
});

describe("a request without a credential", () => {
  const challenge = { schemes: [], error: undefined, description: undefined, scopes: [], resourceMetadata: [] };
  const bare = (schemes: string[], more: Partial<AttemptFacts> = {}, status = 401) =>
    causesOf({ status, carriesCredential: false, challenge: { ...challenge, schemes } }, {}, more);

  test.each([
    [["bearer"], "Bearer ${API_TOKEN}", " It asks for bearer."],
    [["basic"], "Basic ${BASIC_CREDENTIALS}", " It asks for basic."],
    [["basic", "bearer"], "Bearer ${API_TOKEN}", " It asks for basic or bearer."],
    [[], "Bearer ${API_TOKEN}", ""],
  ])("[TS-ERR-2] [TS-D-WHY-3] asked for %j is told what to write: %s", (schemes, value, asked) => {
    expect(bare(schemes)).toMatchObject([
      {
        cause: "nothing-sent",
        weight: 0.95,
        message: `The server requires a credential, and the request carried none.${asked}`,
        mend: { write: `"headers": {"Authorization": "${value}"}`, place: entry },
      },
    ]);
  });

  test("that looked for OAuth says that there is none", () => {
    expect(bare([], { credential: "oauth" })[0]?.message).toContain("publishes nothing for a sign-in by OAuth");
  });

  test("[TS-ERR-3] that is forbidden is a matter of permissions", () => {
    expect(codes(bare([], {}, 403))).toEqual(["permission-missing", "approval-needed"]);
  });
});

describe("the response", () => {
  test("[TS-D-WHY-2] is the evidence, with the title of a page or what it said, and with its challenge", () => {
    const challenge = { schemes: ["bearer"], scopes: [], resourceMetadata: [] };
    const { answer } = refused(401);
    const evidence = (more: object, error?: string, description?: string) =>
      causesOf(
        { challenge: { ...challenge, error, description } },
        {},
        { answer: answer && { ...answer, mediaType: "text/html", ...more } },
      )[0]?.evidence;
    const first = "POST /mcp was answered with 401 (text/html)";
    expect(evidence({ excerpt: "No." })).toEqual([`${first}.`, "It said: No."]);
    expect(evidence({ title: "Denied", excerpt: "No." })).toEqual([`${first}, a page titled "Denied".`]);
    expect(evidence({ title: "" })).toEqual([`${first}, a page.`]);
    expect(evidence({ location: "https://b.example" })).toEqual([`${first}, which leads to https://b.example.`]);
    expect(evidence({}, "invalid_token", "It is old")).toEqual([
      `${first}.`,
      "Its challenge says: invalid_token: It is old",
    ]);
    expect(evidence({}, "invalid_token")?.at(-1)).toBe("Its challenge says: invalid_token");
  });

  test("[TS-D-WHY-2] of a WebSocket is known by its status alone", () => {
    expect(causesOf({}, {}, { answer: undefined })[0]?.evidence).toEqual(["It answered 401."]);
  });

  test("[TS-D-WHY-3] that says a token expired leads to a new one, by the way it was obtained", () => {
    const { answer } = refused(401, {}, "jwt expired");
    const mend = (findings: RefusalFinding[], credential: "headers" | "oauth" = "headers") =>
      causesOf({ findings }, {}, { answer, credential }).find(({ cause }) => cause === "token-expired")?.mend;
    expect(mend([finding("variable")])).toMatchObject(setToken);
    expect(mend([])).toEqual({ what: "Get a new credential from who runs the server." });
    expect(mend([], "oauth")).toMatchObject({ command: login });
  });
});

describe("a sign-in by OAuth", () => {
  const challenge = { schemes: ["bearer"], error: undefined, description: undefined, scopes: [] };
  const named = { ...challenge, resourceMetadata: ["https://a.example/m"] };
  const offer = { headers: ["Authorization", "X-Key"], issuer: "https://as.example", evidence: ["It has metadata."] };

  test.each(["headers", "helper"] as const)("[TS-SEC-6] is offered to a credential of %s", (credential) => {
    const [, offered] = causesOf({ challenge: named }, {}, { credential });
    expect(offered).toMatchObject({ cause: "oauth-offered", weight: 0.35, mend: { command: login } });
    expect(offered?.evidence.at(-1)).toBe("Its challenge names https://a.example/m.");
  });

  test("is not offered without a sign of it, over a WebSocket, or to who signs in already", () => {
    expect(codes(causesOf({ challenge: { ...challenge, resourceMetadata: [] } }))).toEqual(["token-refused"]);
    expect(codes(causesOf({ challenge: named }, { type: "ws" }))).toEqual(["token-refused"]);
    expect(codes(causesOf({ challenge: named }, {}, { credential: "oauth" }))).toEqual([]);
    expect(codes(causesOf({ challenge: named }, {}, { credential: "environment" }))).toEqual(["token-refused"]);
  });

  test("[TS-D-WHY-3] replaces the headers of the entry, after a registration by hand if it needs one", () => {
    const mend = (canRegister: boolean) => causesOf({}, { offer: { ...offer, canRegister } })[1]?.mend;
    const remove = "emove Authorization and X-Key from the headers of the entry, then sign in.";
    expect(mend(true)).toEqual({ what: `R${remove}`, command: login, place: header });
    expect(mend(false)).toMatchObject({
      what: expect.stringContaining(`Then r${remove}`),
      command: login,
      write: '"api": {"clientId": "…"}',
    });
    expect(causesOf({}, { offer: { ...offer, canRegister: true } })[1]?.evidence.at(-1)).toBe("It has metadata.");
  });
});

describe("a tenant", () => {
  const tenants = [{ variable: "TENANT", via: "header" }] as unknown as WalkFacts["tenants"];

  test("[TS-ERR-3] [TS-D-WHY-2] that is not among those of the token is told with both", () => {
    const claims = [
      { claim: "tid", value: "globex" },
      { claim: "org", value: "initech" },
    ];
    const chosen = [{ header: "X-Tenant", value: "acme" }];
    const wrong = (value: string) =>
      causesOf({ tokens: [token({ tenants: claims })], tenants: [{ header: "X-Tenant", value }] }, { tenants });
    const cause = wrong("acme").find((each) => each.cause === "wrong-tenant");
    expect(cause).toMatchObject({ weight: 0.9, mend: { command: "export TENANT=…" } });
    expect(cause?.evidence).toEqual([
      "POST /mcp was answered with 401.",
      'X-Tenant: acme; the token has tid "globex", org "initech".',
    ]);
    expect(codes(wrong("initech"))).not.toContain("wrong-tenant");
    expect(codes(causesOf({ tokens: [token({})], tenants: chosen }))).not.toContain("wrong-tenant");
  });

  test("[TS-ERR-3] that a variable chooses is possible at 403, and not at 401", () => {
    const several = [...tenants, ...tenants] as WalkFacts["tenants"];
    const possible = causesOf({ status: 403 }, { tenants: several }).find((each) => each.cause === "wrong-tenant");
    expect(possible?.message).toContain("is chosen by TENANT. The");
    expect(codes(causesOf({ status: 401 }, { tenants }))).not.toContain("wrong-tenant");
    const { answer } = refused(403, {}, "Unknown tenant");
    const said = causesOf({ status: 403 }, {}, { answer }).find((each) => each.cause === "wrong-tenant");
    expect(said).toMatchObject({ weight: 0.87, mend: { place: entry } });
  });
});

describe("a token that can be read", () => {
  const minute = 60_000;
  const seen = (more: Partial<TokenFacts>, refusal: Partial<RefusalFacts> = {}, facts: Partial<WalkFacts> = {}) =>
    causesOf({ ...refusal, tokens: [token(more)] }, facts).filter(({ cause }) => cause !== "token-refused");

  test("[TS-ERR-2] [TS-D-WHY-2] that expired is told with its times, from its last moment on", () => {
    const [cause] = seen({ issuedAt: now - 10 * minute, expiresAt: now - 5 * minute });
    expect(cause).toMatchObject({
      cause: "token-expired",
      weight: 0.97,
      message:
        "The token in Authorization (from API_TOKEN) expired at 2029-12-31T23:55:00Z, 5 min ago by the server's clock.",
      mend: setToken,
    });
    expect(cause?.evidence).toContain(
      "The token: issued 2029-12-31T23:50:00Z, valid from 2029-12-31T23:50:00Z until 2029-12-31T23:55:00Z.",
    );
    expect(codes(seen({ expiresAt: now }))).toEqual(["token-expired"]);
    expect(codes(seen({ expiresAt: now + 1 }))).toEqual([]);
    expect(seen({ expiresAt: now })[0]?.evidence.join()).toContain("issued at a time that it does not tell");
  });

  test("[TS-D-WHY-2] that is not valid yet is told from when it is", () => {
    const [cause] = seen({ issuedAt: now - minute, notBefore: now + 5 * minute });
    expect(cause).toMatchObject({ cause: "token-not-yet-valid", weight: 0.97, mend: { command: "date -u" } });
    expect(cause?.message).toContain("valid only from 2030-01-01T00:05:00Z, in 5 min by");
    expect(cause?.evidence.join()).toContain("valid from 2030-01-01T00:05:00Z until");
    expect(codes(seen({ notBefore: now }))).toEqual([]);
  });

  test.each([
    [30_000, undefined],
    [-30_000, undefined],
    [5 * minute, "5 min ahead of"],
    [-5 * minute, "5 min behind"],
  ])("[TS-D-WHY-1] whose server's clock differs by %i ms: %s", (skewMs, expected) => {
    const found = seen({ expiresAt: now + 60 * minute }, { skewMs });
    expect(codes(found)).toEqual(expected === undefined ? [] : ["clock-skew"]);
    if (expected === undefined) return;
    expect(found[0]).toMatchObject({ weight: 0.4, mend: { command: "date -u" } });
    expect(found[0]?.message).toContain(`The clock of the server is ${expected} the one here`);
  });

  test("[TS-D-WHY-1] that only one clock takes for expired is a matter of clocks", () => {
    const found = seen({ expiresAt: now + minute }, { skewMs: 5 * minute });
    expect(found.map(({ cause, weight }) => [cause, weight])).toEqual([
      ["token-expired", 0.8],
      ["clock-skew", 0.98],
    ]);
  });

  test.each<[string, Partial<TokenFacts>, object]>([
    ["the helper", { from: "helper", variables: [] }, { command: "'/my plugin/h.sh'" }],
    ["the sign-in", { from: "oauth", variables: [] }, { command: login }],
    ["A and B", { variables: ["A", "B"] }, { command: "export A=…" }],
  ])("[TS-D-WHY-3] from %s is renewed there", (origin, more, mend) => {
    const [cause] = seen({ expiresAt: now, ...more }, {}, { helper });
    expect(cause?.message).toContain(`Authorization (from ${origin}) expired`);
    expect(cause?.mend).toMatchObject(mend);
  });

  test("[TS-D-WHY-3] that is written into the entry has no variable to set", () => {
    const [cause] = seen({ expiresAt: now, variables: [] });
    expect(cause?.message).toContain("The token in Authorization expired");
    expect(cause?.mend).toEqual({ what: "Get a new token." });
  });

  test("[TS-D-WHY-2] for another audience is held against the resource that the server names, or its host", () => {
    const audience = ["api://a", "https://b.example"];
    const oauth = {
      events: [],
      resource: { resource: "https://api.example.com/mcp" },
    } as unknown as WalkFacts["oauth"];
    const [host] = seen({ audience }, {}, { network });
    expect(host).toMatchObject({ cause: "wrong-audience", weight: 0.35, mend: setToken });
    expect(host?.message).toContain(
      'is for "api://a", "https://b.example", and the server is api.example.com, port 443.',
    );
    const [named] = seen({ audience }, {}, { network, oauth });
    expect(named?.weight).toBe(0.9);
    expect(named?.message).toContain("and the server is https://api.example.com/mcp.");
    expect(seen({ audience })[0]?.message).toContain("and the server is this server.");
    expect(seen({ audience: ["https://api.example.com/mcp"] }, {}, { oauth })).toEqual([]);
  });

  test("[TS-ERR-2] that lacks a scope is told which", () => {
    const challenge = {
      schemes: ["bearer"],
      error: "insufficient_scope",
      description: undefined,
      scopes: ["a", "b", "c"],
      resourceMetadata: [],
    };
    const lacking = (scopes: string[] | undefined, error = challenge.error) =>
      seen({ scopes }, { challenge: { ...challenge, error } }).filter(({ weight }) => weight === 0.95);
    expect(lacking(["b"])).toMatchObject([
      {
        cause: "scope-missing",
        message: "The token in Authorization (from API_TOKEN) lacks a, c, which the server asks for.",
        mend: { ...setToken, what: "Get a token with that permission." },
      },
    ]);
    expect(lacking([])[0]?.evidence.at(-1)).toBe("The token has: none.");
    expect(lacking(["a", "b", "c"])).toEqual([]);
    expect(lacking(undefined)).toEqual([]);
    expect(lacking([], "invalid_token")).toEqual([]);
  });
});
