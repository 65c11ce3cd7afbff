import { createServer, request as httpRequest, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { connectToolServer, trustAll } from "@wirescope/tool-server";
import { createConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { pollOptions } from "./gateway.test.helper.js";
import { type StartedGateway, type StartGatewayOptions, startGateway } from "./start-gateway.js";
import { small } from "./tool-servers.test.helper.js";

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function start(options: Partial<StartGatewayOptions> = {}): Promise<StartedGateway> {
  const configuration = createConfiguration({ small });
  const gateway = await startGateway({ configuration, trust: trustAll(), listen: false, ...options });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  await expect.poll(() => gateway.servers()[0]?.state, pollOptions).toBe("READY");
  return gateway;
}

/** The status of a request with these headers, which `fetch` would not send. */
function statusOf(url: string, headers: Record<string, string>, method = "POST"): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject).end();
  });
}

test.each(["auto", "legacy"] as const)(
  "serves clients of the era %s at a path of the program's own server, and leaves its other paths alone",
  async (era) => {
    const gateway = await start();
    const origin = await serve((request, response) => {
      if (request.url === "/tools/mcp") gateway.handler(request, response);
      else response.end("the program");
    });
    expect(gateway.url).toBeUndefined();
    const headers = { Authorization: `Bearer ${gateway.token}` };
    await using client = await connectToolServer({ url: `${origin}/tools/mcp`, headers }, { client: { era } });
    const { content } = await client.callTool({ name: "small__echo", arguments: { message: "hi" } });
    expect(content).toEqual([{ type: "text", text: "Echo: hi" }]);
    expect(await (await fetch(`${origin}/other`)).text()).toBe("the program");
  },
);

test("checks token, Host and Origin of each request to the program's own server, as the listener does", async () => {
  const access = { token: "of-the-program", allowedHosts: ["tools.example"], allowedOrigins: ["https://app.example"] };
  const gateway = await start({ access });
  const url = await serve(gateway.handler);
  const authorization = "Bearer of-the-program";
  expect(await statusOf(url, {})).toBe(401);
  expect(await statusOf(url, { authorization: "Bearer wrong" })).toBe(401);
  expect(await statusOf(url, { authorization, host: "rebound.example" })).toBe(403);
  expect(await statusOf(url, { authorization, origin: "https://evil.example" })).toBe(403);
  // Accepted by the check; the body is not a message.
  const accepted = { authorization, host: "tools.example", origin: "https://app.example" };
  expect(await statusOf(url, accepted)).toBe(415);
  const preflight = { origin: "https://app.example", "access-control-request-method": "POST" };
  expect(await statusOf(url, preflight, "OPTIONS")).toBe(204);
});

test("accepts requests without a token only if the program says so", async () => {
  const gateway = await start({ access: { token: false } });
  expect(gateway.token).toBeUndefined();
  await using client = await connectToolServer({ url: await serve(gateway.handler) });
  expect((await client.listTools()).tools).not.toEqual([]);
});

test("says that a parser of bodies must not run before the handler", async () => {
  const gateway = await start({ access: { token: false } });
  const url = await serve(async (request, response) => {
    for await (const _ of request);
    gateway.handler(request, response);
  });
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("express.json()")]);
});
