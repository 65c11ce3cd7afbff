import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { statusText } from "./credential.js";
import { describeCredentialContract } from "./credential-contract.test.helper.js";
import { createEnvironmentCredential, createHeaderCredential, createNoCredential } from "./fixed-credential.js";
import type { HeaderSource } from "./header-fields.js";

const server = "notes";
const bearer: HeaderSource = { name: "Authorization", value: "Bearer tok-51aGbq8", variables: ["API_TOKEN"] };

describeCredentialContract("no credential", async () => ({
  credential: createNoCredential({ server }),
  secrets: [],
  work: () => 0,
}));

describeCredentialContract("a header credential", async (secrets) => ({
  credential: createHeaderCredential({
    server,
    secrets,
    headers: [bearer, { name: "X-API-Key", value: "key-99887766" }, { name: "X-Tenant-ID", value: "acme" }],
  }),
  secrets: ["tok-51aGbq8", "key-99887766"],
  work: () => 0,
}));

describeCredentialContract("a credential of a stdio environment", async (secrets) => ({
  credential: createEnvironmentCredential({
    server,
    secrets,
    env: [
      { name: "DB_PASSWORD", value: "correct-horse", variables: ["DB_PASSWORD"] },
      { name: "DB_CONNECT", value: "battery-staple", variables: ["DATABASE_SECRET"] },
      { name: "LOG_LEVEL", value: "debug" },
    ],
  }),
  secrets: ["correct-horse", "battery-staple"],
  work: () => 0,
}));

describe("a header credential", () => {
  const create = (...headers: HeaderSource[]) =>
    createHeaderCredential({ server, secrets: createSecretRegistry(), headers });

  test("sends headers of any name as written, including __proto__", async () => {
    const headers = await create(bearer, { name: "__proto__", value: "x" }, { name: "x-Odd", value: "y" }).headers();
    expect(Object.entries(headers)).toEqual([
      ["Authorization", "Bearer tok-51aGbq8"],
      ["__proto__", "x"],
      ["x-Odd", "y"],
    ]);
  });

  test("rejects the same header twice, regardless of case", () => {
    expect(() => create(bearer, { name: "authorization", value: "Basic eDp5" })).toThrow(
      expect.objectContaining({ code: "CREDENTIAL_CONFLICT" }),
    );
  });

  test.each([
    ["X-Key", "a\r\nHost: evil", "contains a line break at position 2"],
    ["X-Key", "a\0", "contains a NUL character at position 2"],
    ["X-Key", "schlüssel-☃", "contains a character beyond Latin-1 at position 11"],
    ["X-Key", " padded", "has leading or trailing white space"],
    ["X-Key", "", "is empty"],
    ["X-Key", "Bearer ${API_TOKEN}", "a variable reference that was not replaced"],
    ["Host", "evil", "is set by the connection itself"],
    ["Sec-WebSocket-Key", "x", "is set by the connection itself"],
    ["X Key", "x", "contains a character that is not allowed in header names"],
  ])("refuses %j with %j", (name, value, message) => {
    expect(() => create({ name, value, variables: ["API_TOKEN"] })).toThrow(
      expect.objectContaining({ code: "CREDENTIAL_UNUSABLE", message: expect.stringContaining(message) }),
    );
  });

  test("identifies an invalid header by its number or name, and by the variables in its value", () => {
    const good = { name: "X-A", value: "a" };
    expect(() => create(good, { name: "Bearer hunter2", value: "x" })).toThrow(
      /the name of header 2 contains a character/,
    );
    const variables = ["A", "B"];
    expect(() => create(good, { name: "X-B", value: "", variables })).toThrow(/its value, from A and B, is empty/);
    expect(() => create(good, { name: "X-B", value: "" })).toThrow(/because its value is empty/);
  });

  test("redacts the password of Basic, not only its base64", () => {
    const secrets = createSecretRegistry();
    const value = `Basic ${Buffer.from("me:opensesame").toString("base64")}`;
    createHeaderCredential({ server, secrets, headers: [{ name: "Authorization", value }] });
    expect(secrets.redact("login with opensesame failed")).not.toContain("opensesame");
  });

  test("describes its headers by name, scheme and variable, and shows the tenant", () => {
    const secrets = createSecretRegistry();
    const tenant = { name: "X-Tenant-ID", value: "acme-corporation", variables: ["TENANT_ID"] };
    const credential = createHeaderCredential({ server, secrets, headers: [bearer, tenant] });
    expect(credential.describe().headers).toEqual([
      { name: "Authorization", from: "configuration", scheme: "Bearer", variables: ["API_TOKEN"] },
      { name: "X-Tenant-ID", from: "configuration", scheme: undefined, variables: ["TENANT_ID"] },
    ]);
    expect(secrets.redact("acme-corporation")).toBe("acme-corporation");
  });
});

test("an environment credential returns the variables of the entry, and no header", async () => {
  const credential = createEnvironmentCredential({
    server,
    secrets: createSecretRegistry(),
    env: [{ name: "DB_USER", value: "me" }],
  });
  expect(credential.environment()).toEqual({ DB_USER: "me" });
  expect(await credential.headers()).toEqual({});
});

test.each([
  ["DB_PASSWORD", "correct-horse", [], true],
  ["DB_PASSWORD", "correct-horse", ["NOT_SECRET"], false],
  ["DB_PASSWORD", "correct-horse", ["NOT_SECRET", "LEVEL"], true],
  ["LEVEL", "correct-horse", ["DB_PASSWORD"], true],
  ["LEVEL", "correct-horse", ["NOT_SECRET", "DB_PASSWORD"], true],
  ["LEVEL", "correct-horse", ["OTHER"], true],
  ["LEVEL", "correct-horse", [], true],
  ["LEVEL", "correct-horse", ["NOT_SECRET"], false],
  ["LEVEL", "hunter", [], true],
  ["LEVEL", "Production", [], false],
  ["LEVEL", "true", [], false],
  ["DB_PASSWORD", "production", [], true],
  ["PORT", "8080", [], false],
  ["PIN", "471147", [], true],
  ["TOOLS", "/usr/bin", [], false],
  ["TOOLS", "/usr/bin:/bin", [], false],
  ["TOOLS", "/9j4AAQSkZJRgABA", [], true],
  ["TOOLS", "/usr/ghp_0123456789abcdefghijABCDEFGHIJ", [], true],
  ["SITE", "https://api.example.com/", [], false],
  ["SITE", "https://hooks.example.com/T012/B345/x9Kq", [], true],
  ["SITE", "notes", [], false],
  ["SITE", "Note", [], false],
  ["SITE", "notes-2", [], true],
  ["DATABASE_URL", "postgres://host/db", [], false],
  ["DATABASE_URL", "postgres://me:correct-horse@host/db", [], true],
])(
  "[TS-D-SEC-2] [TS-D-SEC-6] decides whether %s=%s, built from %j, is redacted: %s",
  (name, value, variables, isSecret) => {
    const secrets = createSecretRegistry();
    createEnvironmentCredential({ server, secrets, env: [{ name, value, variables }] });
    expect(secrets.redact(value) !== value).toBe(isSecret);
  },
);

test.each([
  ["GREETING", "hello there", [], false],
  ["DB_PASSWORD", "correct-horse", [], true],
  ["LEVEL", "correct-horse", ["DB_PASSWORD"], true],
  ["LEVEL", "ghp_0123456789abcdefghijABCDEFGHIJ", [], true],
])(
  "[TS-D-SEC-6] decides whether %s=%s, built from %j, is redacted in a result: %s",
  (name, value, variables, isCertain) => {
    const secrets = createSecretRegistry();
    const scope = secrets.scope();
    createEnvironmentCredential({ server, secrets: scope, env: [{ name, value, variables }] });
    expect(scope.scope().redact(value, "result") !== value).toBe(isCertain);
    expect(scope.redact(value)).toBe("[redacted]");
  },
);

test("the summary of a credential names its headers and variables, or says that it has none", () => {
  const secrets = createSecretRegistry();
  const key = { name: "X-Key", value: "key-99887766" };
  const summary = (...headers: HeaderSource[]) =>
    createHeaderCredential({ server, secrets, headers }).describe().summary;
  expect(summary(bearer, key)).toBe("static headers (Authorization, X-Key)");
  expect(summary()).toBe("none");
  const env = [{ name: "LEVEL", value: "debug" }];
  const described = createEnvironmentCredential({ server, secrets, env }).describe();
  expect(described).toMatchObject({
    summary: "environment variable (LEVEL)",
    environment: [{ name: "LEVEL", variables: [] }],
  });
  expect(createEnvironmentCredential({ server, secrets, env: [] }).describe().summary).toBe("none");
});

test("adds the variables of commands to those of the entry, and describes both without values", async () => {
  const secrets = createSecretRegistry();
  const options = { server, secrets, env: [{ name: "REGION", value: "eu" }] };
  const credential = createEnvironmentCredential({
    ...options,
    commands: [{ name: "API_TOKEN" }],
    obtain: async () => ({ API_TOKEN: "tok-51aGbq8" }),
  });
  const { signal } = new AbortController();
  expect(await credential.prepareEnvironment?.(signal)).toEqual({ REGION: "eu", API_TOKEN: "tok-51aGbq8" });
  expect(credential.describe()).toEqual({
    kind: "environment",
    summary: "environment variables (REGION, API_TOKEN)",
    headers: [],
    environment: [
      { name: "REGION", variables: [] },
      { name: "API_TOKEN", variables: [] },
    ],
  });
  expect(createEnvironmentCredential(options).prepareEnvironment).toBeUndefined();
});

test("describes no credential as none", () => {
  expect(createNoCredential({ server }).describe()).toEqual({
    kind: "none",
    summary: "none",
    headers: [],
    environment: [],
  });
});

test.each([
  [401, "401 Unauthorized."],
  [403, "403 Forbidden."],
  [500, "HTTP 500 does not concern the credential."],
])("says why a request with headers was refused with %d", async (status, reason) => {
  const credential = createHeaderCredential({ server, secrets: createSecretRegistry(), headers: [bearer] });
  const refusal = { status, sent: {}, challenge: undefined, date: undefined };
  expect(await credential.refused(refusal as never)).toEqual({ action: "give-up", reason, advice: "" });
});

test("writes a status as in a status line, and an unknown one as its number", () => {
  expect([statusText(401), statusText(599)]).toEqual(["401 Unauthorized", "599"]);
});
