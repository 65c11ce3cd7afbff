import { describe, expect, test } from "vitest";
import type { AnswerFacts, WalkFacts } from "../facts.js";
import type { FailureFacts } from "../failure-facts.js";
import { answerCauses } from "./answer-causes.js";
import { base, refused } from "./facts.test.helper.js";

const connected = { name: "a", version: "1", protocolVersion: "2025-06-18", era: "legacy", tools: 1 } as const;
const url = { file: ".mcp.json", line: 5, column: 7 };
const entry = { file: ".mcp.json", line: 3, column: 5 };

const response = (more: Partial<AnswerFacts>): AnswerFacts => ({
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
const causesOf = (failure: Partial<FailureFacts>, answer?: AnswerFacts, facts: Partial<WalkFacts> = {}) =>
  answerCauses({
    ...base,
    attempt: {
      credential: "headers",
      failure: { code: "CREDENTIAL_CLOSED", message: "It failed.", ...failure },
      answer,
    },
    ...facts,
  });

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
  ])("[TS-D-WHY-1] of %i means %s", (status, expected) => {
    const evidence = [`It answered ${status}.`];
    const found =
      expected === undefined ? [] : [expect.objectContaining({ cause: expected, message: "It failed.", evidence })];
    expect(causesOf({ status })).toEqual(found);
    const seen = [`POST /mcp was answered with ${status}.`];
    const first = causesOf({}, response({ status, mediaType: "" }))[0];
    if (expected !== undefined) expect(first).toMatchObject({ cause: expected, evidence: seen });
  });

  test("[TS-D-WHY-3] of an upgrade points to WebSocket, and of another method to SSE", () => {
    const [upgrade] = causesOf({ status: 426 });
    expect(upgrade?.mend).toEqual({ what: "Correct the path or the type: a WebSocket has the type ws.", place: url });
    expect(causesOf({ status: 405 })[0]?.mend.what).toContain("has the type sse");
  });

  test("[TS-D-WHY-3] of too many requests says how long the server asks to wait", () => {
    expect(causesOf({}, response({ status: 429, retryAfter: "30 s" }))[0]?.mend).toMatchObject({
      what: "Try again later. It asks to wait: 30 s.",
      command: "wirescope ping api --profile work",
    });
    expect(causesOf({}, response({ status: 429 }))[0]?.mend.what).toBe("Try again later.");
  });

  test.each([
    ["https://b.example/mcp", '"url": "https://b.example/mcp"'],
    ["wss://b.example/mcp", '"url": "wss://b.example/mcp"'],
    ["http://b.example/mcp", undefined],
    ["ftp://b.example/https://", undefined],
    [undefined, undefined],
  ])("[TS-D-WHY-3] [TS-SEC-3] of a redirect to %s advises only an encrypted url: %s", (location, write) => {
    const [cause] = causesOf({}, response({ status: 307, location }));
    expect(cause).toMatchObject({ cause: "redirected", mend: { place: url } });
    expect(cause?.mend.write).toBe(write);
  });
});

describe("a good status without the protocol", () => {
  const foreign = { code: "NOT_A_TOOL_SERVER", status: 200 } as const;

  test.each([
    [{ mediaType: "text/html" }, "html-page"],
    [{ title: "Welcome" }, "html-page"],
    [{ mediaType: "application/json" }, "not-the-protocol"],
    [{ mediaType: "text/event-stream" }, "not-the-protocol"],
    [{ mediaType: "text/plain" }, "content-type-wrong"],
  ])("[TS-D-WHY-1] %o is %s", (seen, expected) => {
    expect(causesOf(foreign, response(seen))[0]).toMatchObject({ cause: expected, weight: 0.9, mend: { place: url } });
  });

  test.each([
    [{ title: "Sign in to Example" }, true],
    [{ title: "Log-in" }, true],
    [{ title: "", excerpt: "Please authenticate first" }, true],
    [{ title: "Welcome to nginx" }, false],
  ])("[TS-D-WHY-3] a page %o is one to sign in: %s", (seen, isSignIn) => {
    const [cause] = causesOf(foreign, response({ mediaType: "text/html", ...seen }));
    expect(cause?.mend.what.startsWith("A page for signing in")).toBe(isSignIn);
    expect(cause?.mend.place).toEqual(url);
  });

  test("is no cause by its status if the protocol was spoken", () => {
    expect(causesOf({ code: "CALL_TIMEOUT", status: 200 }, response({ mediaType: "text/html" }))).toMatchObject([
      { cause: "never-answers" },
    ]);
  });
});

describe("another place that speaks the protocol", () => {
  const at = (type: "http" | "sse" | "ws", place: string) => ({ type, url: place, evidence: "it spoke" });
  const gone = response({ status: 405, path: "/mcp" });

  test.each([
    [at("sse", "https://a.example/mcp"), "wrong-type", '"type": "sse"', entry],
    [at("sse", "https://a.example/sse"), "wrong-path", '"type": "sse", "url": "https://a.example/sse"', url],
    [at("http", "https://a.example/v1/mcp"), "wrong-path", '"url": "https://a.example/v1/mcp"', url],
  ] as const)("[TS-D-WHY-3] %o is %s, and goes before the status", (alternative, expected, write, place) => {
    const [cause, second] = causesOf({ status: 405 }, gone, { alternative });
    expect(cause).toMatchObject({ cause: expected, weight: 1, mend: { write, place } });
    expect(cause?.evidence).toEqual([`At ${alternative.url}, it spoke.`]);
    expect(second?.cause).toBe("method-refused");
  });
});

describe("a failure without a status", () => {
  test.each<[FailureFacts["code"], Partial<FailureFacts>, string | undefined]>([
    ["CALL_TIMEOUT", {}, "never-answers"],
    ["SERVER_UNREACHABLE", {}, "connection-cut"],
    ["SERVER_UNREACHABLE", { needsClientCertificate: true }, "client-certificate-wanted"],
    ["CONNECTION_LOST", {}, "connection-cut"],
    ["SESSION_LOST", {}, "connection-cut"],
    ["NOT_A_TOOL_SERVER", {}, "not-the-protocol"],
    ["ANSWER_INVALID", {}, "answer-invalid"],
    ["MESSAGE_TOO_LARGE", {}, "answer-invalid"],
    ["CALL_REFUSED", {}, "answer-invalid"],
    ["CALL_REFUSED", { said: "Unsupported protocol version" }, "wrong-era"],
    ["CALL_REFUSED", { said: "Invalid API key" }, "token-refused"],
    ["CREDENTIAL_CLOSED", {}, undefined],
  ])("[TS-D-WHY-1] %s with %o is %s", (code, more, expected) => {
    const expectation = { cause: expected, message: "It failed.", evidence: [] };
    expect(causesOf({ code, ...more })).toMatchObject(expected === undefined ? [] : [expectation]);
  });

  test("[TS-D-WHY-2] after a handshake is not a matter of the version", () => {
    const failure = { code: "CALL_REFUSED", message: "It failed.", said: "Unsupported protocol version" } as const;
    const [cause] = answerCauses({ ...base, attempt: { credential: "headers", connected, failure } });
    expect(cause).toMatchObject({ cause: "answer-invalid", evidence: ["The handshake went well."] });
  });
});

test("refusals, processes and what did not fail are judged elsewhere", () => {
  expect(answerCauses(base)).toEqual([]);
  expect(answerCauses({ ...base, attempt: { credential: "headers", answer: response({ status: 500 }) } })).toEqual([]);
  expect(answerCauses({ ...base, attempt: refused(401) })).toEqual([]);
  expect(causesOf({ code: "CALL_TIMEOUT" }, undefined, { type: "stdio" })).toEqual([]);
});
