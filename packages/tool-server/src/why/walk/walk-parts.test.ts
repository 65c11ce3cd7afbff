import { describe, expect, test } from "vitest";
import { type ConnectingDetails, ToolServerError } from "../../errors.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { missingVariables } from "./check-child.js";
import { classify } from "./check-network.js";
import { inspectClientResponse } from "./check-sign-in.js";
import { candidatesOf } from "./find-alternative.js";
import { createWalk, within } from "./walk.js";

test("tries other urls from the likeliest on, without the configured one", () => {
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

test("considers a variable missing only if a line says so and the entry does not pass it on", () => {
  const find = (line: string, env = {}) => missingVariables([line], env, { SET_HERE: "x" });
  expect(find("Please set SET_HERE and OTHER_KEY")).toEqual([
    { variable: "SET_HERE", isSetHere: true },
    { variable: "OTHER_KEY", isSetHere: false },
  ]);
  expect(find("OTHER_KEY is required", { OTHER_KEY: "" })).toEqual([]);
  expect(find("using OTHER_KEY")).toEqual([]);
  expect(find("Error [ERR_MODULE_NOT_FOUND]: not found")).toEqual([]);
});

test("fails a task when it times out, and when the walk ends", async () => {
  const clock = createFakeClock();
  const walk = new AbortController();
  const limit = { clock, responseMs: 1000, signal: walk.signal };
  let seen: AbortSignal | undefined;
  const forEver = (signal: AbortSignal): Promise<never> => {
    seen = signal;
    return new Promise(() => {});
  };
  const slow = within(limit, forEver);
  clock.advance(1000);
  await expect(slow).rejects.toMatchObject({ code: "CALL_TIMEOUT", message: "No response within 1 s." });
  expect(seen?.aborted).toBe(true);
  const late = within(limit, forEver);
  walk.abort(new ToolServerError("CALL_TIMEOUT", { problem: "The walk ended.", advice: "" }));
  await expect(late).rejects.toThrow("The walk ended.");
  await expect(within(limit, async () => "done")).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
  expect(clock.waiting).toBe(0);
});

test("truncates text of a peer after redaction, so that no part of a secret remains", () => {
  const secrets = createSecretRegistry();
  secrets.add("a-secret-of-some-length");
  const options = { secrets, variables: {}, pluginRoot: "/" } as unknown as Parameters<typeof createWalk>[0];
  const { say } = createWalk(options, { type: "http", name: "api" } as never, new AbortController().signal);
  expect(say(`${"x".repeat(15)} a-secret-of-some-length`, 30)).toBe(`${"x".repeat(15)} [redacted]`);
  expect(say("one\n\u001b[31mtwo")).toBe("one \\x1b[31mtwo");
});

describe("the response of an authorization endpoint", () => {
  const context = { secrets: createSecretRegistry() };
  const inspect = (status: number, body = "", location = "") =>
    inspectClientResponse(context, { status, body, headers: { location } }, "http://127.0.0.1:1/callback").outcome;

  test("decides from the response of an authorization endpoint whether it knows the client and its redirect URI", () => {
    expect(inspect(200, "<form>Sign in</form>")).toBe("accepted");
    expect(inspect(302, "", "https://as.example/login")).toBe("accepted");
    expect(inspect(302, "", "http://127.0.0.1:1/callback?code=abc")).toBe("accepted");
    expect(inspect(302, "", "http://127.0.0.1:1/callback?error=unauthorized_client")).toBe("dead");
    expect(inspect(302, "", "http://127.0.0.1:1/callback?error=access_denied")).toBe("unclear");
    expect(inspect(400, "<h1>invalid_client</h1>")).toBe("dead");
    expect(inspect(400, "Invalid redirect_uri for client")).toBe("redirect-mismatch");
    expect(inspect(503, "invalid_client")).toBe("unclear");
  });

  test("reports the response of an authorization endpoint without the code in it", () => {
    const headers = { location: "http://127.0.0.1:1/callback?code=a-secret-code" };
    const inspected = inspectClientResponse(context, { status: 302, body: "", headers }, "http://127.0.0.1:1/callback");
    expect(JSON.stringify(inspected)).not.toContain("a-secret-code");
  });
});

test("classifies a connection failure by the stage it reached, whatever its message says", () => {
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
