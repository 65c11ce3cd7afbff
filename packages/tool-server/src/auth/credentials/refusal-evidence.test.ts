import { describe, expect, test } from "vitest";
import type { CredentialDescription, HeaderDescription } from "../../connection-info.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { Refusal } from "./credential.js";
import {
  carriesCredential,
  collectRefusalEvidence,
  credentialHeaders,
  readTokenTimes,
  tokenTimesOfHeader,
} from "./refusal-evidence.js";

const now = Date.UTC(2030, 5, 1, 12);
const url = new URL("https://api.example.com/mcp");
const described: CredentialDescription = { kind: "headers", summary: "", headers: [], environment: [] };
const header = (name: string, more: Partial<HeaderDescription> = {}): HeaderDescription => ({
  name,
  from: "configuration",
  scheme: undefined,
  variables: [],
  ...more,
});

function collect(refusal: Partial<Refusal>, credential: Partial<CredentialDescription> = {}) {
  const secrets = createSecretRegistry();
  for (const value of Object.values(refusal.sent ?? {})) secrets.add(value.split(" ").at(-1) ?? "");
  const evidence = collectRefusalEvidence({
    refusal: { status: 401, sent: {}, ...refusal },
    credential: { ...described, ...credential },
    url,
    now,
    redact: (text) => secrets.redact(text),
  });
  return evidence;
}

function jwt(claims: Record<string, unknown>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part(claims)}.c2ln`;
}

describe("the headers of a refused request", () => {
  test.each([
    ["Bearer s3cr3t", undefined],
    ["s3cr3t-t0ken", "no-scheme"],
    ["Own s3cr3t", undefined],
    ["Bearer", "no-credentials"],
    ["Bearer Bearer s3cr3t", "scheme-doubled"],
    ['Bearer "s3cr3t"', "quoted"],
    ["Bearer 's3cr3t'", "quoted"],
    ["Bearer 's3cr3t", undefined],
    ["Bearer a's3cr3t'", undefined],
    ["Bearer 's3'cr3t", undefined],
    ["Basic s3cr3t", "basic-not-base64"],
    ["Basic dTpw", undefined],
    ["bearer s3cr3t", "scheme-case"],
    ["BASIC dTpw", "scheme-case"],
    ["token s3cr3t", undefined],
    ["bearer bearer s3cr3t", "scheme-doubled"],
    ["Bearer <API_TOKEN>", "placeholder"],
    ["Bearer your-token-here", "placeholder"],
    ["changeme", "placeholder"],
    ["Bearer undefined", "undefined"],
    ["Bearer null", "null"],
    ["undefined", "undefined"],
  ])("[TS-ERR-2] finds in the value %s the defect %s", (value, defect) => {
    const [found] = collect({ sent: { Authorization: value } }).headers;
    expect(found?.defect).toBe(defect);
    if (/^(Bearer|Basic)/.test(value)) expect(found?.scheme).toBe(value.split(" ")[0]);
  });

  test("expects no scheme in a header other than Authorization, and detects placeholders in it", () => {
    const headers = [header("X-API-Key")];
    expect(collect({ sent: { "X-API-Key": "Bearer" } }, { headers }).headers[0]).toEqual({
      name: "X-API-Key",
      from: "configuration",
      variables: [],
      isCredential: true,
      scheme: undefined,
      defect: undefined,
    });
    expect(collect({ sent: { "X-API-Key": "changeme" } }, { headers }).headers[0]?.defect).toBe("placeholder");
  });

  test("describes headers as the credential does, regardless of the case of their names, and omits others", () => {
    const headers = [header("Authorization", { variables: ["API_TOKEN"] })];
    const sent = { authorization: "Bearer s3cr3t", accept: "application/json" };
    expect(collect({ sent }, { headers }).headers).toMatchObject([{ name: "Authorization", variables: ["API_TOKEN"] }]);
    expect(credentialHeaders({ dpop: "proof" }, { kind: "oauth", headers: [] })).toMatchObject([
      { header: { name: "dpop", from: "oauth" } },
    ]);
    expect(credentialHeaders({ Authorization: "x" }, { kind: "headers", headers: [] })).toMatchObject([
      { header: { from: "configuration" } },
    ]);
  });

  test("recognizes a credential by the name of its header or variable, but not in a tenant header", () => {
    const sent = { "X-Custom": "1", "X-Region": "2", "X-Tenant-ID": "acme" };
    const headers = [
      header("X-Custom", { variables: ["API_TOKEN"] }),
      header("X-Region", { variables: ["REGION"] }),
      header("X-Tenant-ID", { variables: ["TENANT_TOKEN"] }),
    ];
    const evidence = collect({ sent }, { headers });
    expect(evidence.headers.map(({ isCredential }) => isCredential)).toEqual([true, false, false]);
    expect(evidence.tenants).toMatchObject([{ header: "X-Tenant-ID" }]);
    expect(evidence.tenantVariables).toEqual(["TENANT_TOKEN"]);
  });

  test("[TS-SEC-1] includes no header value, even if the server repeats it", () => {
    const evidence = collect({
      sent: { Authorization: "Bearer s3cr3t-t0ken" },
      challenge: 'Bearer error="invalid_token", error_description="s3cr3t-t0ken \\"is\\"  \u001b[31mbad"',
    });
    expect(JSON.stringify(evidence)).not.toContain("s3cr3t-t0ken");
    expect(evidence.challenge?.description).toBe('[redacted] "is" \\x1b[31mbad');
  });
});

test("reads from the challenge its schemes, its first error, its scopes and all metadata urls", () => {
  const challenge =
    'Basic realm="a", Bearer error="insufficient_scope", scope="a b", resource_metadata="https://a.example/m", DPoP error="other"';
  expect(collect({ challenge }).challenge).toEqual({
    schemes: ["basic", "bearer", "dpop"],
    error: "insufficient_scope",
    description: undefined,
    scopes: ["a", "b"],
    resourceMetadata: ["https://a.example/m"],
  });
  expect(collect({}).challenge).toBeUndefined();
});

test("compares the clocks if the response has a Date header", () => {
  expect(collect({ date: new Date(now + 60_000).toUTCString() }).skewMs).toBe(60_000);
  expect(collect({ date: "no date" }).skewMs).toBeUndefined();
  expect(collect({}).skewMs).toBeUndefined();
  expect(collect({}).now).toBe(now);
});

test.each([
  ["oauth", "Bearer", "supported"],
  ["oauth", "DPoP", "supported"],
  ["oauth", 'Custom resource_metadata="https://a.example/m"', "supported"],
  ["oauth", "Basic", undefined],
  ["oauth", undefined, undefined],
  ["headers", "Bearer", undefined],
] as const)(
  "[TS-ERR-2] concludes from a credential of the kind %s and the challenge %s that OAuth is %s",
  (kind, challenge, expected) => {
    const oauth = { isSignedIn: false, scopes: ["a"] } as unknown as CredentialDescription["oauth"];
    const evidence = collect({ challenge }, { kind, oauth });
    expect(evidence.oauth).toBe(expected);
    expect(evidence.signIn).toEqual({ isSignedIn: false, scopes: ["a"] });
  },
);

test("describes the helper and the host", () => {
  const helper = {
    path: "/plugin/\u001b.sh",
    runs: 1,
    failures: 0,
    obtainedAt: now,
  } as CredentialDescription["helper"];
  expect(collect({}, { helper })).toMatchObject({
    helper: { path: "/plugin/\\x1b.sh", obtainedAt: now },
    host: "api.example.com",
  });
  expect(collect({}).helper).toBeUndefined();
});

describe("a JSON Web Token", () => {
  test("[TS-ERR-2] describes a JSON Web Token by its times, audience, scopes and tenant, and nothing else", () => {
    const claims = {
      iat: 1,
      nbf: 2,
      exp: 3,
      aud: "https://api.example.com",
      scope: "a  b",
      tid: "t",
      org_id: 7,
      sub: "me",
    };
    const sent = { Authorization: `Bearer ${jwt(claims)}` };
    expect(collect({ sent }, { headers: [header("Authorization", { variables: ["T"] })] }).tokens).toEqual([
      {
        header: "Authorization",
        from: "configuration",
        variables: ["T"],
        issuedAt: 1000,
        notBefore: 2000,
        expiresAt: 3000,
        audience: ["https://api.example.com"],
        isForServer: true,
        scopes: ["a", "b"],
        tenants: [
          { claim: "tid", value: "t" },
          { claim: "org_id", value: "7" },
        ],
      },
    ]);
    const custom = { sent: { "X-Token": jwt({ scp: ["a", "b c", 1] }) } };
    expect(collect(custom, { headers: [header("X-Token")] }).tokens[0]?.scopes).toEqual(["a", "b", "c"]);
    expect(collect({ sent: { Authorization: `Bearer ${jwt({})}` } }).tokens[0]).toMatchObject({
      audience: [],
      scopes: undefined,
      tenants: [],
    });
  });

  test("finds no token in values that are not JSON Web Tokens", () => {
    expect(collect({ sent: { Authorization: "Bearer opaque" } }).tokens).toEqual([]);
  });
});

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const tokenOf = (claims: unknown, header: unknown = { alg: "RS256" }): string => `${part(header)}.${part(claims)}.c2ln`;
const none = { issuedAt: undefined, notBefore: undefined, expiresAt: undefined };

test("reads the times of a token in milliseconds, each from its own claim", () => {
  expect(readTokenTimes(tokenOf({ iat: 1, nbf: 2, exp: 3.5 }))).toEqual({
    issuedAt: 1000,
    notBefore: 2000,
    expiresAt: 3500,
  });
});

test("accepts a token without times or without a signature", () => {
  expect(readTokenTimes(tokenOf({}))).toEqual(none);
  expect(readTokenTimes(`${part({ alg: "none" })}.${part({ exp: 0 })}.`)).toEqual({ ...none, expiresAt: 0 });
});

test.each(["1", null, -1, 1e300, 8.64e12 + 1, {}])("rejects %j as a time", (exp) => {
  expect(readTokenTimes(tokenOf({ exp }))).toEqual(none);
});

test("accepts the latest time that a Date can represent", () => {
  const { expiresAt } = readTokenTimes(tokenOf({ exp: 8.64e12 })) ?? none;
  expect(new Date(expiresAt ?? Number.NaN).getTime()).toBe(8.64e15);
});

test.each([
  ["", "nothing"],
  ["abc", "an opaque token"],
  ["a.b.c", "parts that are not JSON"],
  [`${part({ alg: 1 })}.${part({ exp: 1 })}.c2ln`, "an alg that is not a string"],
  [`${part({ typ: "JWT" })}.${part({ exp: 1 })}.c2ln`, "no alg"],
  [`${part(null)}.${part({ exp: 1 })}.c2ln`, "a header that is null"],
  [tokenOf(null), "claims that are null"],
  [tokenOf("text"), "claims that are a string"],
  [`${tokenOf({ exp: 1 })}.more`, "a fourth part"],
  [`x ${tokenOf({ exp: 1 })}`, "text before it"],
  [`${tokenOf({ exp: 1 })} x`, "text after it"],
])("rejects %j as a token: %s", (text) => {
  expect(readTokenTimes(text)).toBeUndefined();
});

test("finds the token after the scheme in Authorization, and as the value of any other header", () => {
  const token = tokenOf({ exp: 3 });
  expect(tokenTimesOfHeader("authorization", `Bearer ${token}`)?.expiresAt).toBe(3000);
  expect(tokenTimesOfHeader("X-Token", token)?.expiresAt).toBe(3000);
  expect(tokenTimesOfHeader("X-Token", `Bearer ${token}`)).toBeUndefined();
});

test("recognizes a credential by any of the variables in a header, unless the header names a tenant", () => {
  expect(carriesCredential({ name: "X-Custom", variables: ["REGION", "API_TOKEN"] })).toBe(true);
  expect(carriesCredential({ name: "X-Custom", variables: ["REGION"] })).toBe(false);
  expect(carriesCredential({ name: "X-Tenant-ID", variables: ["API_TOKEN"] })).toBe(false);
});

test("ignores headers whose name only contains that of a credential", () => {
  expect(credentialHeaders({ "x-authorization": "a", "authorization-info": "b", "x-dpop": "c" }, described)).toEqual(
    [],
  );
});
