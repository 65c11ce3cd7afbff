import { describe, expect, test } from "vitest";
import type { ResponseEvidence } from "../../causes/refusal-evidence.js";
import type { FailureEvidence, WalkEvidence } from "../evidence.js";
import { base, refused } from "./evidence.test.helper.js";
import { responseCauses } from "./response-causes.js";

const connected = { name: "a", version: "1", protocolVersion: "2025-06-18", era: "legacy", tools: 1 } as const;
const url = { file: ".mcp.json", line: 5, column: 7 };
const entry = { file: ".mcp.json", line: 3, column: 5 };

const response = (more: Partial<ResponseEvidence>): ResponseEvidence => ({
  method: "POST",
  path: "/mcp",
  status: 200,
  mediaType: "text/plain",
  title: undefined,
  excerpt: "",
  location: undefined,
  retryAfter: undefined,
  ...more,
});

/** The causes of a failure without a refusal; those with a status come first. */
function causesOf(failure: Partial<FailureEvidence>, response?: ResponseEvidence, seen: Partial<WalkEvidence> = {}) {
  const causes = responseCauses({
    ...base,
    attempt: {
      credential: "headers",
      failure: { code: "CREDENTIAL_CLOSED", message: "It failed.", ...failure },
      response,
    },
    ...seen,
  });
  for (const { code, fix } of causes) expect(fix.advice, code).toMatch(/^[A-Z].*\.$/);
  return causes;
}

describe("a status", () => {
  test.each([
    [299, undefined],
    [300, "redirected"],
    [308, "redirected"],
    [399, "redirected"],
    [400, "not-the-protocol"],
    [404, "not-found"],
    [405, "method-refused"],
    [406, "method-refused"],
    [410, "not-found"],
    [415, "method-refused"],
    [426, "method-refused"],
    [429, "rate-limited"],
    [499, "not-the-protocol"],
    [500, "server-failing"],
    [501, "method-refused"],
    [503, "server-failing"],
  ])("[TS-D-WHY-1] explains the status %i as %s", (status, expected) => {
    const evidence = [`The server returned ${status}.`];
    const found =
      expected === undefined ? [] : [expect.objectContaining({ code: expected, problem: "It failed.", evidence })];
    expect(causesOf({ status })).toEqual(found);
    const shown = [`POST /mcp returned ${status}.`];
    const first = causesOf({}, response({ status, mediaType: "" }))[0];
    if (expected !== undefined) expect(first).toMatchObject({ code: expected, evidence: shown });
  });

  test("[TS-D-WHY-3] suggests WebSocket after a 426, and SSE after a 405", () => {
    const [upgrade] = causesOf({ status: 426 });
    expect(upgrade?.fix).toEqual({
      advice: 'Correct the path or the type. A WebSocket server has the type "ws".',
      position: url,
    });
    expect(causesOf({ status: 405 })[0]?.fix.advice).toContain('has the type "sse"');
  });

  test("[TS-D-WHY-3] suggests trying again after failures that may pass", () => {
    const command = "wirescope ping api --profile work";
    expect(causesOf({ status: 503 })[0]?.fix.command).toBe(command);
    for (const code of ["CALL_TIMEOUT", "SERVER_UNREACHABLE", "CONNECTION_LOST", "SESSION_LOST"] as const)
      expect(causesOf({ code })[0]?.fix.command).toBe(command);
  });

  test("[TS-D-WHY-3] says after a 429 how long the server asks to wait", () => {
    expect(causesOf({}, response({ status: 429, retryAfter: "30 s" }))[0]?.fix).toMatchObject({
      advice: "Try again later. The server sent Retry-After: 30 s.",
      command: "wirescope ping api --profile work",
    });
    expect(causesOf({}, response({ status: 429 }))[0]?.fix.advice).toBe("Try again later.");
  });

  test.each([
    ["https://b.example/mcp", '"url": "https://b.example/mcp"'],
    ["wss://b.example/mcp", '"url": "wss://b.example/mcp"'],
    ["http://b.example/mcp", undefined],
    ["ftp://b.example/https://", undefined],
    [undefined, undefined],
  ])("[TS-D-WHY-3] [TS-SEC-3] suggests only an encrypted url after a redirect to %s: %s", (location, write) => {
    const [cause] = causesOf({}, response({ status: 307, location }));
    expect(cause).toMatchObject({ code: "redirected", fix: { position: url } });
    expect(cause?.fix.write).toBe(write);
  });
});

describe("a success status without the protocol", () => {
  const foreign = { code: "NOT_A_TOOL_SERVER", status: 200 } as const;

  test.each([
    [{ mediaType: "text/html" }, "html-page"],
    [{ title: "Welcome" }, "html-page"],
    [{ mediaType: "application/json" }, "not-the-protocol"],
    [{ mediaType: "text/event-stream" }, "not-the-protocol"],
    [{ mediaType: "text/plain" }, "content-type-wrong"],
  ])("[TS-D-WHY-1] explains a success status with %o as %s", (shown, expected) => {
    expect(causesOf(foreign, response(shown))[0]).toMatchObject({
      code: expected,
      weight: 0.9,
      fix: { position: url },
    });
  });

  test.each([
    [{ title: "Sign in to Example" }, true],
    [{ title: "Log-in" }, true],
    [{ title: "Login | Example" }, true],
    [{ title: "Signin" }, true],
    [{ title: "You are logging in" }, true],
    [{ title: "Company SSO" }, true],
    [{ title: "Lessons of our associates, and cataloging" }, false],
    [{ title: "", excerpt: "Please authenticate first" }, true],
    [{ title: "Welcome to nginx" }, false],
  ])("[TS-D-WHY-3] decides whether the page %o is a sign-in page: %s", (shown, isSignIn) => {
    const [cause] = causesOf(foreign, response({ mediaType: "text/html", ...shown }));
    expect(cause?.fix.advice.startsWith("A sign-in page")).toBe(isSignIn);
    expect(cause?.fix.position).toEqual(url);
  });

  test("blames no page if the failure is not about the protocol", () => {
    expect(causesOf({ code: "CALL_TIMEOUT", status: 200 }, response({ mediaType: "text/html" }))).toMatchObject([
      { code: "no-response" },
    ]);
  });
});

describe("an alternative url that speaks the protocol", () => {
  const at = (type: "http" | "sse" | "ws", position: string) => ({ type, url: position, evidence: "it spoke" });
  const gone = response({ status: 405, path: "/mcp" });

  test.each([
    [at("sse", "https://a.example/mcp"), "wrong-type", '"type": "sse"', entry],
    [at("sse", "https://a.example/sse"), "wrong-path", '"type": "sse", "url": "https://a.example/sse"', url],
    [at("http", "https://a.example/v1/mcp"), "wrong-path", '"url": "https://a.example/v1/mcp"', url],
  ] as const)(
    "[TS-D-WHY-3] reports the alternative %o as %s, before the cause of the status",
    (alternative, expected, write, position) => {
      const [cause, second] = causesOf({ status: 405 }, gone, { alternative });
      expect(cause).toMatchObject({ code: expected, weight: 1, fix: { write, position } });
      expect(cause?.evidence).toEqual([`At ${alternative.url}, it spoke.`]);
      expect(second?.code).toBe("method-refused");
    },
  );
});

describe("a failure without a status", () => {
  test.each<[FailureEvidence["code"], Partial<FailureEvidence>, string | undefined]>([
    ["CALL_TIMEOUT", {}, "no-response"],
    ["SERVER_UNREACHABLE", {}, "connection-cut"],
    ["SERVER_UNREACHABLE", { needsClientCertificate: true }, "client-certificate-required"],
    ["CONNECTION_LOST", {}, "connection-cut"],
    ["SESSION_LOST", {}, "connection-cut"],
    ["NOT_A_TOOL_SERVER", {}, "not-the-protocol"],
    ["RESPONSE_INVALID", {}, "response-invalid"],
    ["MESSAGE_TOO_LARGE", {}, "response-invalid"],
    ["CALL_REFUSED", {}, "response-invalid"],
    ["CALL_REFUSED", { said: "Unsupported protocol version" }, "version-unsupported"],
    ["CALL_REFUSED", { said: "Invalid API key" }, "token-refused"],
    ["CREDENTIAL_CLOSED", {}, undefined],
  ])("[TS-D-WHY-1] explains %s with %o and without a status as %s", (code, more, expected) => {
    const expectation = { code: expected, problem: "It failed.", evidence: [] };
    expect(causesOf({ code, ...more })).toMatchObject(expected === undefined ? [] : [expectation]);
  });

  test("[TS-D-WHY-2] does not blame the protocol version after a handshake", () => {
    const failure = { code: "CALL_REFUSED", message: "It failed.", said: "Unsupported protocol version" } as const;
    const [cause] = responseCauses({ ...base, attempt: { credential: "headers", connected, failure } });
    expect(cause).toMatchObject({ code: "response-invalid", evidence: ["The handshake succeeded."] });
  });
});

test("finds no cause in refusals, processes and successes, which are explained elsewhere", () => {
  expect(responseCauses(base)).toEqual([]);
  expect(responseCauses({ ...base, attempt: { credential: "headers", response: response({ status: 500 }) } })).toEqual(
    [],
  );
  expect(responseCauses({ ...base, attempt: refused(401) })).toEqual([]);
  expect(causesOf({ code: "CALL_TIMEOUT" }, undefined, { type: "stdio" })).toEqual([]);
});
