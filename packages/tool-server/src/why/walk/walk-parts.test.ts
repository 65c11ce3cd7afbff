import { describe, expect, test } from "vitest";
import { type ConnectingDetails, ToolServerError } from "../../errors.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { missingVariables } from "./look-at-child.js";
import { judgeClientAnswer } from "./look-at-client.js";
import { classify } from "./look-at-network.js";
import { walkOver, within } from "./time-limit.js";
import { isMeantFor, tokenFactsOf } from "./token-facts.js";
import { candidatesOf } from "./try-alternatives.js";
import { createWalk } from "./walk.js";

test("other places are tried from the likeliest on, and the one that was asked for is not among them", () => {
  const list = (url: string, type: "http" | "sse" | "ws") =>
    candidatesOf(new URL(url), type).map((candidate) => `${candidate.type} ${candidate.url.pathname}`);
  expect(list("https://a.example/api", "http")).toEqual([
    "sse /api",
    "http /api/",
    "http /mcp",
    "sse /sse",
    "http /api/mcp",
    "sse /api/sse",
    "http /",
  ]);
  expect(list("https://a.example/", "sse")).toEqual(["http /", "http /mcp", "sse /sse"]);
  const [first] = candidatesOf(new URL("wss://a.example/mcp"), "ws");
  expect(first?.url.href).toBe("https://a.example/mcp");
});

test("an audience is this server by its origin, another by another's, and a name tells nothing", () => {
  const server = new URL("https://api.example.com/mcp");
  expect(isMeantFor(["https://api.example.com"], server)).toBe(true);
  expect(isMeantFor(["https://other.example", "https://api.example.com/v1"], server)).toBe(true);
  expect(isMeantFor(["https://other.example"], server)).toBe(false);
  expect(isMeantFor(["https://other.example", "a-name"], server)).toBeUndefined();
  expect(isMeantFor([], server)).toBeUndefined();
  expect(isMeantFor(["https://api.example.com"], new URL("wss://api.example.com/"))).toBe(true);
});

test("a host alone is an audience too, with its port or without, and a url that cannot be read tells nothing", () => {
  const server = new URL("https://api.example.com:8443/mcp");
  expect(isMeantFor(["api.example.com"], server)).toBe(true);
  expect(isMeantFor(["api.example.com:8443"], server)).toBe(true);
  expect(isMeantFor(["https://api.example.com"], server)).toBe(false);
  expect(isMeantFor(["https://"], server)).toBeUndefined();
  expect(isMeantFor(["x-https://other.example"], server)).toBeUndefined();
});

describe("what a token says of itself", () => {
  const server = new URL("https://api.example.com/mcp");
  const read = (claims: unknown, name = "Authorization", scheme = "Bearer ") => {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const value = `${scheme}${part({ alg: "none" })}.${part(claims)}.c2ln`;
    return tokenFactsOf({ name, from: "configuration", variables: ["A"] }, value, server, (text) => `<${text}>`);
  };

  test("[TS-D-WHY-2] is its times, audience, scopes and tenant, redacted, and nothing else", () => {
    const claims = {
      exp: 10,
      iat: 5,
      aud: "a-name",
      scope: " read  write ",
      tid: "acme",
      org_id: 7,
      team_id: {},
      sub: "ada",
    };
    expect(read(claims)).toEqual({
      header: "Authorization",
      from: "configuration",
      variables: ["A"],
      issuedAt: 5000,
      notBefore: undefined,
      expiresAt: 10_000,
      audience: ["<a-name>"],
      isForServer: undefined,
      scopes: ["<read>", "<write>"],
      tenants: [
        { claim: "tid", value: "<acme>" },
        { claim: "org_id", value: "<7>" },
      ],
    });
  });

  test("[TS-D-WHY-2] may be in any header, and its lists are bounded", () => {
    const aud = ["", 1, ...Array.from({ length: 11 }, (_, index) => `a${index}`)];
    const facts = read({ exp: 1, aud, scp: ["read", "write"] }, "X-Token", "");
    expect(facts?.audience).toHaveLength(10);
    expect(facts?.audience[0]).toBe("<a0>");
    expect(facts?.scopes).toEqual(["<read>", "<write>"]);
    expect(read({ exp: 1 })).toMatchObject({ audience: [], scopes: undefined, tenants: [] });
    expect(read({ exp: 1, scope: "" })?.scopes).toEqual([]);
  });

  test("is nothing if it is no JSON Web Token", () => {
    const header = { name: "Authorization", from: "configuration", variables: [] } as const;
    expect(tokenFactsOf(header, "Bearer opaque", server, (text) => text)).toBeUndefined();
    expect(read(null)).toBeUndefined();
  });
});

test("variables are missed only where a line laments them, and the entry does not pass them on", () => {
  const find = (line: string, env = {}) => missingVariables([line], env, { SET_HERE: "x" });
  expect(find("Please set SET_HERE and OTHER_KEY")).toEqual([
    { variable: "SET_HERE", isSetHere: true },
    { variable: "OTHER_KEY", isSetHere: false },
  ]);
  expect(find("OTHER_KEY is required", { OTHER_KEY: "" })).toEqual([]);
  expect(find("using OTHER_KEY")).toEqual([]);
  expect(find("Error [ERR_MODULE_NOT_FOUND]: not found")).toEqual([]);
});

test("what takes too long is given up, and so is what the walk has no time for", async () => {
  const clock = createFakeClock();
  const walk = new AbortController();
  const limit = { clock, answerMs: 1000, signal: walk.signal };
  let seen: AbortSignal | undefined;
  const forEver = (signal: AbortSignal): Promise<never> => {
    seen = signal;
    return new Promise(() => {});
  };
  const slow = within(limit, forEver);
  clock.advance(1000);
  await expect(slow).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
  expect(seen?.aborted).toBe(true);
  const late = within(limit, forEver);
  walk.abort(walkOver(5000));
  await expect(late).rejects.toThrow("The walk took longer than 5 s, and was ended.");
  await expect(within(limit, async () => "done")).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
  expect(clock.waiting).toBe(0);
});

test("text of others is cut only after its secrets are taken out, so that no part of one stays", () => {
  const secrets = createSecretRegistry();
  secrets.add("a-secret-of-some-length");
  const options = { secrets, variables: {}, pluginRoot: "/" } as unknown as Parameters<typeof createWalk>[0];
  const { say } = createWalk(options, { type: "http", name: "api" } as never, new AbortController().signal);
  expect(say(`${"x".repeat(15)} a-secret-of-some-length`, 30)).toBe(`${"x".repeat(15)} [redacted]`);
  expect(say("one\n\u001b[31mtwo")).toBe("one \\x1b[31mtwo");
});

describe("the answer of an authorization endpoint", () => {
  const context = { secrets: createSecretRegistry() };
  const judge = (status: number, body = "", location = "") =>
    judgeClientAnswer(context, { status, body, headers: { location } }, "http://127.0.0.1:1/callback").outcome;

  test("tells whether it knows the client and its redirect", () => {
    expect(judge(200, "<form>Sign in</form>")).toBe("accepted");
    expect(judge(302, "", "https://as.example/login")).toBe("accepted");
    expect(judge(302, "", "http://127.0.0.1:1/callback?code=abc")).toBe("accepted");
    expect(judge(302, "", "http://127.0.0.1:1/callback?error=unauthorized_client")).toBe("dead");
    expect(judge(302, "", "http://127.0.0.1:1/callback?error=access_denied")).toBe("unclear");
    expect(judge(400, "<h1>invalid_client</h1>")).toBe("dead");
    expect(judge(400, "Invalid redirect_uri for client")).toBe("redirect-mismatch");
    expect(judge(503, "invalid_client")).toBe("unclear");
  });

  test("is told without the code that it carries", () => {
    const headers = { location: "http://127.0.0.1:1/callback?code=a-secret-code" };
    const told = judgeClientAnswer(context, { status: 302, body: "", headers }, "http://127.0.0.1:1/callback");
    expect(JSON.stringify(told)).not.toContain("a-secret-code");
  });
});

test("a connection's failure is placed by how far the connection had come, whatever its message says", () => {
  const failed = (code: string, connecting: ConnectingDetails) =>
    new ToolServerError(
      "SERVER_UNREACHABLE",
      { problem: "the TLS handshake failed: the proxy returned 407", advice: "" },
      {
        cause: Object.assign(new Error(code), { code }),
        details: { connecting },
      },
    );
  const stageOf = (code: string, stage: ConnectingDetails["stage"], isProxyItself = false) =>
    classify(failed(code, { stage, isProxyItself })).stage;
  expect(stageOf("ENOTFOUND", "reaching")).toBe("name");
  expect(stageOf("ECONNREFUSED", "reaching")).toBe("connection");
  expect(stageOf("CERT_HAS_EXPIRED", "securing")).toBe("tls");
  expect(stageOf("ECONNREFUSED", "reaching", true)).toBe("proxy");
  expect(stageOf("CERT_HAS_EXPIRED", "securing", true)).toBe("proxy");
  const refused = failed("", { stage: "asking-proxy", isProxyItself: true, proxyStatus: 403 });
  expect(classify(refused)).toMatchObject({ stage: "proxy", proxyStatus: 403 });
});
