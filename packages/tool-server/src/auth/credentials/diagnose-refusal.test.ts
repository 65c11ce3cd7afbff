import { describe, expect, test } from "vitest";
import type { CredentialDescription } from "../../connection-info.js";
import type { RefusalFinding } from "../../refusal-finding.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { Refusal } from "./credential.js";
import { diagnoseRefusal } from "./diagnose-refusal.js";
import { createHeaderCredential, createNoCredential } from "./fixed-credential.js";
import type { HeaderSource } from "./header-fields.js";

const now = Date.UTC(2030, 5, 1, 12);

async function diagnose(headers: HeaderSource[], answer: Partial<Refusal> = {}): Promise<RefusalFinding[]> {
  const secrets = createSecretRegistry();
  const credential =
    headers.length === 0
      ? createNoCredential({ server: "notes" })
      : createHeaderCredential({ server: "notes", secrets, headers });
  const refusal = { status: 401, sent: await credential.headers(), attempt: 1, ...answer };
  const findings = diagnoseRefusal({ refusal, credential: credential.describe(), now, redact: secrets.redact });
  const told = JSON.stringify(findings);
  for (const { value } of headers) expect(told).not.toContain(value.split(" ").at(-1));
  return findings;
}

const authorization = (value: string): HeaderSource => ({ name: "Authorization", value, variables: ["API_TOKEN"] });

function token(claims: Record<string, number>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part(claims)}.c2ln`;
}

describe("the first diagnosis of a refusal", () => {
  test("[TS-ERR-2] names what was missing where nothing was sent", async () => {
    const [first] = await diagnose([], { challenge: 'Bearer realm="notes", Basic' });
    expect(first).toMatchObject({ cause: "nothing-sent", weight: "explains" });
    expect(first?.message).toContain("asks for Bearer or Basic");
  });

  test("[TS-ERR-2] names the command that signs in, where nobody has", () => {
    const [first] = diagnoseRefusal({
      refusal: { status: 401, sent: {}, attempt: 1, challenge: "Bearer" },
      server: "notes",
      credential: { kind: "oauth", summary: "", headers: [], environment: [] },
      now: 0,
      redact: (text) => text,
    });
    expect(first?.message).toBe(
      "The request carried no credential. The server asks for Bearer. Nobody has signed in: wirescope login notes",
    );
  });

  test("[TS-ERR-2] [TS-D-WHY-5] sees that the token is in another header than the challenge asks for", async () => {
    const sent = { name: "X-Auth-Token", value: "s3cr3t-t0ken", variables: ["API_TOKEN"] };
    const [first] = await diagnose([{ name: "X-Region", value: "eu-1" }, sent], { challenge: "Bearer" });
    expect(first).toEqual({
      cause: "wrong-header",
      weight: "explains",
      message: "The server asks for Authorization: Bearer, and the token is in X-Auth-Token (from API_TOKEN).",
      header: "X-Auth-Token",
      variables: ["API_TOKEN"],
      scheme: "Bearer",
    });
    const causes = async (...given: Parameters<typeof diagnose>) =>
      (await diagnose(...given)).map(({ cause }) => cause);
    expect(await causes([{ ...sent, name: "X-Custom" }], { challenge: "Basic" })).toContain("wrong-header");
    // A tenant is no token, a scheme that is not known may mean a header of the server's own, and a challenge may be missing.
    expect(await causes([{ ...sent, name: "X-Tenant-ID" }], { challenge: "Bearer" })).not.toContain("wrong-header");
    expect(await causes([sent], { challenge: "Bearer, ApiKey" })).not.toContain("wrong-header");
    expect(await causes([sent])).not.toContain("wrong-header");
    expect(await causes([sent, authorization("Bearer s3cr3t-t0ken")], { challenge: "Bearer" })).not.toContain(
      "wrong-header",
    );
  });

  test("[TS-ERR-2] sees that the prefix is missing, and names the variable", async () => {
    const [first] = await diagnose([authorization("s3cr3t-t0ken")]);
    expect(first).toEqual({
      cause: "scheme-missing",
      weight: "explains",
      message:
        'Authorization (from API_TOKEN) starts with neither "Bearer " nor "Basic ": a bare token is refused. Write "Bearer " before it.',
      header: "Authorization",
      variables: ["API_TOKEN"],
    });
  });

  test.each([
    ["Bearer Bearer s3cr3t", "names a scheme twice"],
    ['Bearer "s3cr3t"', "quotes around its token"],
    ["Basic s3cr3t", "not followed by the base64 of user:password"],
  ])("sees that %s is malformed", async (value, message) => {
    const [first] = await diagnose([authorization(value)]);
    expect(first).toMatchObject({ cause: "credentials-malformed", message: expect.stringContaining(message) });
  });

  test("sees that nothing follows the scheme", () => {
    const [first] = diagnoseRefusal({
      refusal: { status: 401, sent: { Authorization: "Bearer" }, attempt: 1 },
      credential: { kind: "headers", summary: "", headers: [], environment: [] },
      now,
      redact: (text) => text,
    });
    expect(first).toMatchObject({ cause: "credentials-malformed", message: "Authorization has nothing after Bearer." });
  });

  test.each(["<API_TOKEN>", "your-token-here", "changeme"])(
    "sees that %s is the example of a document",
    async (value) => {
      const [first] = await diagnose([authorization(`Bearer ${value}`)]);
      expect(first).toMatchObject({ cause: "placeholder" });
    },
  );

  test("sees that the server asks for another scheme", async () => {
    const [first] = await diagnose([authorization("Bearer s3cr3t")], { challenge: "Basic realm=x" });
    expect(first).toMatchObject({ cause: "scheme-differs", message: expect.stringContaining("asks for Basic") });
  });

  test("[TS-ERR-2] sees that a token has expired, with its times", async () => {
    const issued = now / 1000 - 7200;
    const [first] = await diagnose([authorization(`Bearer ${token({ iat: issued, exp: issued + 3600 })}`)]);
    expect(first).toMatchObject({
      cause: "token-expired",
      message:
        "The token in Authorization (from API_TOKEN) expired at 2030-06-01T11:00:00Z, 60 min ago. It was issued at 2030-06-01T10:00:00Z. Get a new one.",
    });
  });

  test("sees that a token is not valid yet, by the clock of the server, and that the clocks differ", async () => {
    const findings = await diagnose(
      [authorization(`Bearer ${token({ nbf: now / 1000 - 5, exp: now / 1000 + 600 })}`)],
      {
        date: new Date(now - 300_000).toUTCString(),
      },
    );
    expect(findings.slice(0, 2)).toMatchObject([
      {
        cause: "token-not-yet-valid",
        message: expect.stringContaining("valid only from 2030-06-01T11:59:55Z, in 5 min"),
      },
      { cause: "clock-skew", message: expect.stringContaining("5 min behind the one here (2030-06-01T12:00:00Z)") },
    ]);
  });

  test("finds nothing wrong with the times of a token that is valid", async () => {
    const findings = await diagnose(
      [authorization(`Bearer ${token({ iat: now / 1000 - 9, exp: now / 1000 + 600 })}`)],
      {
        date: new Date(now).toUTCString(),
      },
    );
    expect(findings.map(({ cause }) => cause)).toEqual(["variable"]);
  });

  test("[TS-ERR-3] names variables, the tenant and permissions at 403, and the scope that the server asks for", async () => {
    const findings = await diagnose(
      [authorization("Bearer s3cr3t"), { name: "X-Workspace-ID", value: "w-17", variables: ["WORKSPACE_ID"] }],
      { status: 403, challenge: 'Bearer error="insufficient_scope", scope="notes:write admin"' },
    );
    expect(findings.map(({ cause, variables }) => [cause, variables])).toEqual([
      ["scope-missing", []],
      ["tenant", ["WORKSPACE_ID"]],
      ["permission", ["API_TOKEN", "WORKSPACE_ID"]],
    ]);
    expect(findings[0]?.message).toContain("notes:write admin");
  });

  test("repeats what the server says without secrets, and without what could drive a terminal", async () => {
    const findings = await diagnose([authorization("Bearer s3cr3t-t0ken")], {
      challenge: 'Bearer error="invalid_token", error_description="s3cr3t-t0ken \\"is\\" \u001b[31mbad"',
    });
    expect(findings.find(({ cause }) => cause === "server-says")?.message).toBe(
      'The server says: "invalid_token: [redacted] "is" \\x1b[31mbad".',
    );
  });

  test("has nothing to say of another status", async () => {
    expect(await diagnose([authorization("Bearer s3cr3t")], { status: 500 })).toEqual([]);
  });

  const described: CredentialDescription = { kind: "headers", summary: "", headers: [], environment: [] };
  const judge = (refusal: Partial<Refusal>, credential: Partial<CredentialDescription> = {}, server?: string) =>
    diagnoseRefusal({
      refusal: { status: 401, sent: {}, attempt: 1, ...refusal },
      credential: { ...described, ...credential },
      server,
      now,
      redact: (text) => text,
    });

  test.each<[CredentialDescription["kind"], string | undefined, string | undefined, string]>([
    ["oauth", "Bearer", undefined, "Nobody has signed in: wirescope login <server>"],
    ["oauth", "DPoP", "my notes", "Nobody has signed in: wirescope login 'my notes'"],
    ["oauth", "Basic", "notes", "Give the entry one in headers or headersHelper."],
    ["none", "Bearer", "notes", "Give the entry one in headers or headersHelper."],
    ["environment", undefined, "notes", "The request carried no credential. Give the entry one in its env."],
  ])("[TS-ERR-2] advises %s, asked for %s, where to give a credential", (kind, challenge, server, advice) => {
    expect(judge({ challenge }, { kind }, server)[0]?.message).toContain(advice);
    expect(judge({ challenge, status: 403 }, { kind }, server).map(({ cause }) => cause)).toEqual(["permission"]);
  });

  test.each([
    ["Bearer s3cr3t", "Bearer realm=a", []],
    ["Bearer s3cr3t", "Basic, Bearer", []],
    ["Bearer s3cr3t", "Custom", []],
    ["Bearer s3cr3t", "Custom, Basic", ["scheme-differs"]],
    ["Own s3cr3t", "Bearer", []],
    ["Bearer 's3cr3t'", "", ["credentials-malformed"]],
    ["Bearer 's3cr3t", "", []],
    ["Bearer a's3cr3t'", "", []],
    ["Bearer 's3'cr3t", "", []],
    ["Basic dTpw", "", []],
  ])("[TS-ERR-2] judges %s by the challenge %j: %j", (value, challenge, expected) => {
    const sent = { authorization: value };
    expect(
      judge({ sent, challenge })
        .filter(({ weight }) => weight === "explains")
        .map(({ cause }) => cause),
    ).toEqual(expected);
  });

  test("[TS-ERR-3] leaves the header alone at 403: the server knows who asks", () => {
    const headers = [{ name: "X-Auth-Token", from: "helper", scheme: undefined, variables: [] }] as const;
    const given = { sent: { "X-Auth-Token": "s3cr3t" }, challenge: "Bearer" };
    expect(judge(given, { headers })[0]).toMatchObject({
      cause: "wrong-header",
      message: expect.stringContaining("the token is in X-Auth-Token (from the helper)."),
    });
    expect(judge({ ...given, status: 403 }, { headers }).map(({ cause }) => cause)).toEqual(["permission"]);
  });

  test("says when an expired token was issued only if the token does", () => {
    const [expired] = judge({ sent: { "X-Token": token({ exp: now / 1000 - 60 }) } });
    expect(expired?.message).toBe("The token in X-Token expired at 2030-06-01T11:59:00Z, 60 s ago. Get a new one.");
  });

  test("finds the variables of a header whatever the case of its name", () => {
    const headers = [
      { name: "Authorization", from: "configuration", scheme: undefined, variables: ["API_TOKEN"] },
    ] as const;
    expect(judge({ sent: { authorization: "s3cr3t" } }, { headers })[0]).toMatchObject({
      cause: "scheme-missing",
      header: "Authorization",
      variables: ["API_TOKEN"],
    });
  });

  test("[TS-ERR-2] names the origin of each value at 401: variables, those of a process, and the helper", () => {
    const header = (name: string, from: "configuration" | "helper", variables: string[]) =>
      ({ name, from, scheme: undefined, variables }) as const;
    const credential = {
      headers: [
        header("X-Key", "configuration", ["A", "B", "C"]),
        header("X-Fixed", "configuration", []),
        header("X-Tenant", "configuration", ["TENANT"]),
        header("X-Signature", "helper", []),
        header("X-Nonce", "helper", []),
      ],
      environment: [
        { name: "DB_KEY", variables: ["KEY"] },
        { name: "LEVEL", variables: [] },
      ],
      helper: { path: "/plugin/\u001b.sh", runs: 1, failures: 0, obtainedAt: now } as CredentialDescription["helper"],
    };
    const sent = { "X-Key": "s3cr3t" };
    expect(judge({ sent }, credential).map(({ message }) => message)).toEqual([
      "X-Key is made of A, B and C. Check that it holds the current credential of this server.",
      "The process gets DB_KEY from KEY. Check that it holds the current credential.",
      "X-Signature and X-Nonce came from the helper /plugin/\\x1b.sh at 2030-06-01T12:00:00Z. Run it by hand, and look at what it signs with.",
      "X-Tenant (from TENANT) chooses a tenant. Check that the credential belongs to it.",
    ]);
    const unused = { path: "/h.sh", runs: 0, failures: 0 } as CredentialDescription["helper"];
    expect(judge({ sent }, { helper: unused })[0]?.message).toContain("The headers came from the helper /h.sh. Run");
    expect(judge({ sent, status: 403 }, credential).map(({ cause }) => cause)).toEqual(["tenant", "permission"]);
  });

  test.each([
    [{ exp: now / 1000 }, undefined, ["token-expired"]],
    [{ exp: now / 1000 + 1 }, undefined, []],
    [{ nbf: now / 1000 }, undefined, []],
    [{ nbf: now / 1000 + 1 }, undefined, ["token-not-yet-valid"]],
    [{ iat: now / 1000 + 1, exp: now / 1000 + 2 }, undefined, ["token-not-yet-valid"]],
    [{ exp: now / 1000 + 60 }, 30, []],
    [{ exp: now / 1000 + 60 }, -30, []],
    [{ exp: now / 1000 + 60 }, 31, ["clock-skew"]],
    [{ exp: now / 1000 + 60 }, 60, ["token-expired", "clock-skew"]],
  ] as const)("[TS-ERR-2] judges %o by a clock that is ahead by %s s: %j", (claims, aheadSeconds, expected) => {
    const date = aheadSeconds === undefined ? "no date" : new Date(now + aheadSeconds * 1000).toUTCString();
    const found = judge({ sent: { "X-Token": token(claims) }, date });
    expect(found.map(({ cause }) => cause)).toEqual(expected);
    const skew = found.find(({ cause }) => cause === "clock-skew");
    if (skew !== undefined) expect(skew.message).toContain("ahead of the one here");
  });

  test.each([
    ['Bearer error="insufficient_scope"', "scope-missing", "that the token lacks. Get a token with it."],
    ['Bearer error="invalid_token"', "server-says", 'The server says: "invalid_token".'],
    ['Bearer error_description="too old"', "server-says", 'The server says: "too old".'],
    ['Bearer realm="a"', undefined, ""],
  ])("[TS-ERR-2] repeats the challenge %s", (challenge, cause, message) => {
    const [first] = judge({ sent: { Authorization: "Bearer s3cr3t" }, challenge });
    expect(first?.cause).toBe(cause);
    expect(first?.message ?? "").toContain(message);
  });

  test("[TS-ERR-2] puts what explains the refusal before what is only to check", () => {
    const sent = { "X-Key": "changeme", Authorization: "Bearer s3cr3t" };
    const found = judge({ sent, challenge: 'Bearer error="invalid_token", Basic error="insufficient_scope"' });
    expect(found.map(({ cause }) => cause)).toEqual(["placeholder", "scope-missing", "server-says"]);
  });

  test.each(["", ",,,", '="', 'Bearer error="unclosed', "a=b".repeat(5000), "\u0000\u00ff"])(
    "copes with the challenge %j",
    async (challenge) => {
      expect(await diagnose([authorization("Bearer s3cr3t")], { challenge: challenge.slice(0, 20_000) })).not.toEqual(
        [],
      );
    },
  );
});
