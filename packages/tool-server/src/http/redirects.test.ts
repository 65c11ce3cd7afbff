import { describe, expect, onTestFinished, test } from "vitest";
import { createTestContext } from "../connection/transports/transport-context.test.helper.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { createHttpClient } from "./create-http-client.js";
import { startHostileServer } from "./hostile-http-server.test.helper.js";
import type { HttpClient, HttpRequest } from "./http-client.js";
import { sendWithinOrigin } from "./redirects.js";

interface TestContext {
  readonly http: HttpClient;
  readonly secrets: SecretRegistry;
}

function createContext(): TestContext {
  const { server, info, secrets } = createTestContext("http");
  const http = createHttpClient({ server, secrets, transport: () => info });
  onTestFinished(() => http.close());
  return { http, secrets };
}

const request = (url: URL, method: HttpRequest["method"]): HttpRequest => ({
  method,
  url,
  headers: { authorization: "Bearer t0ps3cret" },
  ...(method === "POST" ? { body: "{}" } : {}),
});

describe("[TS-D-HTTP-1] a redirect", () => {
  test.each([
    ["GET", 301],
    ["GET", 302],
    ["GET", 307],
    ["GET", 308],
    ["POST", 307],
    ["POST", 308],
    ["DELETE", 308],
  ] as const)("follows a redirect within the origin, with headers and body: %s %s", async (method, status) => {
    const server = await startHostileServer((seen, response) => {
      if (seen.url === "/mcp") response.writeHead(status, { location: "/mcp/" }).end("moved");
      else response.end("here");
    });
    const response = await sendWithinOrigin(createContext(), request(server.url, method));
    expect(await response.text(10)).toBe("here");
    const [first, second] = server.requests;
    expect(second).toMatchObject({
      method,
      url: "/mcp/",
      body: first?.body,
      headers: { authorization: "Bearer t0ps3cret" },
    });
  });

  test.each([301, 302, 303])("refuses a redirect that would turn a POST into a GET: %s", async (status) => {
    const server = await startHostileServer((_, response) => response.writeHead(status, { location: "/" }).end());
    await expect(sendWithinOrigin(createContext(), request(server.url, "POST"))).rejects.toMatchObject({
      code: "REDIRECT_REFUSED",
      details: { status },
    });
    expect(server.requests).toHaveLength(1);
  });

  test("refuses a redirect to another origin: its headers are not sent, and its query is not shown", async () => {
    const other = await startHostileServer((_, response) => response.end("evil"));
    const server = await startHostileServer((seen, response) => {
      const location = new URL(seen.url, `http://x`).searchParams.get("to") ?? "";
      response.writeHead(308, { location }).end();
    });
    const targets = [
      [`http://localhost:${other.port}/steal?code=abc123`, `to http://localhost:${other.port}.`],
      [`http://127.0.0.1:${server.port}/`, `to http://127.0.0.1:${server.port}.`],
      ["//evil.example/x", "to http://evil.example."],
      [`https://localhost:${server.port}/`, "Use https in the URL."],
      ["javascript:alert(1)", "to javascript:."],
      [`http://me:pw@localhost:${server.port}/`, "to a URL that contains a user"],
      ["http://[", "without a valid Location"],
      ["https://t0ps3cret.evil.example/", "to https://[redacted].evil.example."],
    ] as const;
    const context = createContext();
    context.secrets.add("t0ps3cret");
    for (const [target, words] of targets) {
      const url = new URL(`?to=${encodeURIComponent(target)}`, server.url);
      const failure: unknown = await sendWithinOrigin(context, request(url, "POST")).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: "REDIRECT_REFUSED", details: { status: 308 } });
      expect(String(failure)).toContain(words);
      expect(String(failure)).not.toMatch(/abc123|t0ps3cret|:pw@/);
    }
    expect(other.requests).toEqual([]);
    expect(server.requests).toHaveLength(targets.length);
  });

  test("follows three redirects, and no more", async () => {
    let rounds = 3;
    const server = await startHostileServer((_, response, index) => {
      if (index < rounds) response.writeHead(307, { location: `/${index}` }).end();
      else response.end("here");
    });
    const response = await sendWithinOrigin(createContext(), request(server.url, "POST"));
    expect(await response.text(10)).toBe("here");
    rounds = 100;
    await expect(sendWithinOrigin(createContext(), request(server.url, "GET"))).rejects.toThrow("more than 3 times");
    expect(server.requests).toHaveLength(8);
  });
});
