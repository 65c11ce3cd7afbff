import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isChromiumInstalled } from "./chromium.test.helper.js";
import { checkAccessibility, phone, usePageGateway } from "./page.test.helper.js";

const token = "token-of-the-page-calls-test";
const secret = "known-secret-of-the-configuration";
const hostile = '<img src=x onerror="document.title=1">\u001b[31m\u202egpj';

/** A legacy server whose tool echoes, fails or waits until the test lets it respond. */
let server: Server;
let release = (): void => {};

function respond(response: ServerResponse, id: unknown, result: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { id, method, params } = JSON.parse(text);
    if (method === "server/discover") return response.writeHead(400).end();
    if (id === undefined) return response.writeHead(202).end();
    if (method === "initialize") {
      const serverInfo = { name: "wild", version: "1" };
      return respond(response, id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
    }
    const properties = { text: { type: "string" }, password: { type: "string" } };
    const tool = { name: "echo", inputSchema: { type: "object", properties } };
    if (method === "tools/list") return respond(response, id, { tools: [tool] });
    if (method !== "tools/call") return respond(response, id, {});
    const given = String(params.arguments?.text ?? "");
    const result = { content: [{ type: "text", text: `${given} ${secret}` }], isError: given === "fail" };
    if (given !== "wait") return respond(response, id, result);
    release = () => respond(response, id, result);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe.skipIf(!isChromiumInstalled)("the calls in the page", () => {
  const gateway = usePageGateway({
    args: (folder) => {
      const { port } = server.address() as AddressInfo;
      const entry = { type: "http", url: `http://127.0.0.1:${port}/mcp`, headers: { "x-key": `\${WILD_KEY}` } };
      writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { wild: entry } }));
      writeFileSync(join(folder, "token"), token, { mode: 0o600 });
      const files = ["--config", join(folder, ".mcp.json"), "--token-file", join(folder, "token")];
      return [...files, "--trust", "--allow-insecure-loopback", "--capture"];
    },
    env: { WILD_KEY: secret },
  });

  const connect = async (name: string): Promise<Client> => {
    const client = new Client({ name, version: "1.0" }, { versionNegotiation: { mode: "legacy" } });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", gateway.url), { requestInit }));
    return client;
  };
  const echo = (client: Client, text: string): Promise<unknown> =>
    client.callTool({ name: "wild__echo", arguments: { text, password: "hidden-by-name" } });
  const rows = (page: Page) => page.getByRole("table", { name: "calls" }).locator("tbody tr");

  test("a call appears when it starts, changes when it ends, and opens with its timeline and its body", async () => {
    await using client = await withClose(await connect("editor"));
    const page = await gateway.open("/calls");
    await page.getByText("No calls yet.").waitFor();
    await page.getByText("Capture is on").waitFor();
    const waiting = echo(client, "wait");
    await rows(page).first().getByText("running").waitFor();
    await rows(page).first().getByText("echo").click();
    const panel = page.getByRole("complementary", { name: "Call" });
    await panel.getByRole("list", { name: "Phases of the call" }).getByText("running").waitFor();
    release();
    await waiting;
    await panel.getByText("ok", { exact: true }).waitFor();
    await rows(page).first().getByText("ok").waitFor();
    const phases = panel.getByRole("list", { name: "Phases of the call" });
    for (const title of ["Total", "Request", "Server", "Response"])
      await phases.getByText(title, { exact: true }).waitFor();
    await panel.getByRole("region", { name: "Result as JSON" }).getByText("[redacted]").waitFor();
    const body = (await panel.textContent()) ?? "";
    expect(body).toContain('"text": "wait"');
    for (const hidden of [secret, "hidden-by-name"]) expect(body).not.toContain(hidden);
    expect(body).toContain(`wirescope call wild echo '{"text":"wait","password":"[redacted]"}'`);
    await checkAccessibility(page);

    await panel.getByRole("link", { name: "Open in Tools" }).click();
    await page.getByRole("button", { name: "Run" }).waitFor();
    await expect.poll(() => page.getByRole("textbox", { name: "text" }).inputValue()).toBe("wait");
    await expect.poll(() => new URL(page.url()).searchParams.get("arguments")).toBeNull();
    await page.goBack();

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      panel.getByRole("button", { name: "Export" }).click(),
    ]);
    const line = readFileSync(await download.path(), "utf8");
    expect(JSON.parse(line)).toMatchObject({ server: "wild", name: "echo", request: { arguments: { text: "wait" } } });
    expect(line).not.toContain(secret);

    await panel
      .getByRole("link", { name: /^socket \d+$/ })
      .first()
      .click();
    await expect.poll(() => new URL(page.url()).searchParams.get("panel")).toMatch(/^\/object\/socket\/\d+$/);
  });

  test("keeps four windows current at once, which over HTTP/1.1 share six connections", async () => {
    await using client = await withClose(await connect("many-windows"));
    const first = await gateway.open("/calls");
    const windows = [first];
    for (const path of ["/tools?name=wild__echo", "/calls", "/tools?name=wild__echo"]) {
      const page = await first.context().newPage();
      await page.goto(new URL(path, gateway.url).href);
      windows.push(page);
    }
    await echo(client, "seen by all");
    for (const page of windows) {
      await page.getByText("live", { exact: true }).waitFor();
      if (page.url().includes("/calls")) await rows(page).getByText("many-windows").first().waitFor();
      else {
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await page.getByRole("region", { name: "Result", exact: true }).getByText("done").waitFor();
      }
    }
  });

  test("shows a client of the graph by its name, and no failure because windows of the page came and went", async () => {
    await using client = await withClose(await connect("editor"));
    const page = await gateway.open("/connections");
    for (const path of ["/tools", "/calls"]) {
      const other = await page.context().newPage();
      await other.goto(new URL(path, gateway.url).href);
      await other.getByText("live", { exact: true }).waitFor();
      await other.close();
    }
    await echo(client, "after the windows");
    await page.locator("a.node", { hasText: "editor 1.0" }).first().waitFor();
    await page.locator("a.node", { hasText: /wirescope.*calls\/s/ }).waitFor();
    expect(await page.locator("a.node", { hasText: "failing" }).count()).toBe(0);
    await checkAccessibility(page);
  });

  test("filters by outcome in the address, searches, and says how to see the rest", async () => {
    await using client = await withClose(await connect("editor"));
    await echo(client, "fail");
    const page = await gateway.open("/calls?outcome=failed");
    await rows(page).first().getByText("tool error").waitFor();
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.getByRole("combobox", { name: "All outcomes" }).selectOption("cancelled");
    await page.getByText("No call matches the filter.").waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("outcome")).toBe("cancelled");
    await page.getByRole("button", { name: "Show all requests" }).click();
    await page.getByRole("searchbox", { name: "Search calls" }).fill("tool error");
    await expect.poll(() => rows(page).count()).toBe(1);
  });

  test("holds the list while it is paused, and shows what is new on request", async () => {
    await using client = await withClose(await connect("editor"));
    const page = await gateway.open("/calls");
    await rows(page).first().waitFor();
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Resume (p)" }).waitFor();
    const before = await rows(page).count();
    for (const text of ["a", "b"]) await echo(client, text);
    const button = page.getByRole("button", { name: "2 new calls" });
    await button.waitFor();
    expect(await rows(page).count()).toBe(before);
    await button.click();
    await expect.poll(() => rows(page).count()).toBe(before + 2);
    await page.keyboard.press("p");
  });

  test("shows names of hostile clients and results as text, on a phone as well", async () => {
    await using client = await withClose(await connect(hostile));
    await echo(client, hostile);
    const page = await gateway.open("/calls", { ...phone, colorScheme: "dark" });
    await rows(page).first().getByText("echo").click();
    const panel = page.getByRole("complementary", { name: "Call" });
    await panel.getByText("<img src=x").first().waitFor();
    const text = (await panel.textContent()) ?? "";
    for (const character of ["\u001b", "\u202e"]) expect(text).not.toContain(character);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.title()).not.toBe("1");
    await checkAccessibility(page);
    const address = new URL(page.url()).searchParams.get("panel") ?? "";
    await page.goto(new URL(address, gateway.url).href);
    await page.getByRole("heading", { name: "echo" }).waitFor();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(390);
  });

  test("says that a call is no longer kept", async () => {
    gateway.expectProblems(/404/);
    const page = await gateway.open("/calls/ffffff-1");
    await page.getByText("This call is no longer kept").waitFor();
    await page.getByRole("link", { name: "Show the latest calls" }).click();
    await rows(page).first().waitFor();
  });

  test("stays usable in five windows, and says that the sixth waits for a connection", async () => {
    const client = await connect("windows");
    await client.callTool({ name: "wild__echo", arguments: { text: "in two windows" } });
    await client.close();
    const page = await gateway.open("/calls");
    const rows = page.getByRole("table", { name: "calls" }).locator("tbody tr");
    await rows.first().waitFor();
    const open = async (): Promise<Page> => {
      const next = await page.context().newPage();
      await next.goto(new URL("/calls", gateway.url).href);
      return next;
    };
    for (let count = 1; count < 5; count += 1) await (await open()).getByText("live", { exact: true }).waitFor();
    const last = await open();
    const note = last.getByText("Other windows with this page use all connections");
    await note.waitFor();
    await rows.first().click();
    await page.getByRole("list", { name: "Phases of the call" }).waitFor();
    await page.close();
    await note.waitFor({ state: "detached" });
    await last.getByRole("table", { name: "calls" }).locator("tbody tr").first().waitFor();
  });

  test("ends the capture and deletes the bodies", async () => {
    await using client = await withClose(await connect("editor"));
    const page = await gateway.open("/calls");
    await page.getByRole("button", { name: "Stop and delete" }).click();
    await page.getByText("Capture is on").waitFor({ state: "detached" });
    await echo(client, "after");
    await rows(page).first().getByText("echo").click();
    const panel = page.getByRole("complementary", { name: "Call" });
    await panel.getByText("No body is stored.").waitFor();
    await page.getByRole("button", { name: "Capture bodies" }).click();
    await page.getByText("Capture is on").waitFor();
  });
});

async function withClose(client: Client): Promise<Client & AsyncDisposable> {
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}
