import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type ChannelzListener, createRegistry, listenChannelz } from "@wirescope/channelz";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isChromiumInstalled } from "./chromium.test.helper.js";
import { usePageGateway } from "./page.test.helper.js";
import { useTargetPage } from "./page-target.test.helper.js";

/** Hides characters and reverses the rest of its line. */
const hostileName = "pay\u200bments\u202eylppa";
const hostileText = `${hostileName}<b>${"x".repeat(200_000)}`;

/** The elements with text or a tooltip that contains invisible characters or overrides of the direction. */
function elementsWithHiddenText(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const hidden = /[\u200b\u202a-\u202e\u2066-\u2069]/;
    return [...document.querySelectorAll("*")]
      .filter((element) => {
        const own = [...element.childNodes].map((node) => (node instanceof Text ? node.data : ""));
        return hidden.test([...own, element.getAttribute("title"), element.getAttribute("aria-label")].join(" "));
      })
      .map((element) => `${element.localName} ${element.textContent?.slice(0, 80)}`);
  });
}

async function expectHarmless(page: Page): Promise<void> {
  expect(await elementsWithHiddenText(page)).toEqual([]);
  expect(await page.locator("body script, b").count()).toBe(0);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
  expect(await page.evaluate(() => document.body.textContent?.length)).toBeLessThan(50_000);
}

describe.skipIf(!isChromiumInstalled)("the page of a hostile process", () => {
  const registry = createRegistry();
  let listener: ChannelzListener;
  const channel = registry.addChannel({ name: hostileText, target: hostileText, state: "TRANSIENT_FAILURE" });
  channel.trace(`-> TRANSIENT_FAILURE: ${hostileText}`, { severity: "warning" });
  const targetPage = useTargetPage(async () => {
    listener = await listenChannelz(registry);
    return [listener.address];
  });
  afterAll(() => listener.close({ deadlineMs: 0 }));

  test("shows hidden characters of names and reasons as escapes, and only the start of long ones, in the overview", async () => {
    const page = await targetPage.open("/");
    await page.getByRole("table", { name: "problems" }).getByText("transient failure", { exact: true }).waitFor();
    await expectHarmless(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("option").filter({ hasText: "channel 1" }).waitFor();
    await expectHarmless(page);
  });

  test("shows hidden characters of trace events as escapes in the history", async () => {
    const page = await targetPage.open("/history?events=1");
    await expect
      .poll(async () => {
        channel.trace(`-> TRANSIENT_FAILURE: ${hostileText}`, { severity: "warning" });
        return page.getByRole("table", { name: "changes" }).count();
      })
      .toBe(1);
    await page.getByRole("cell", { name: "event", exact: true }).first().waitFor();
    await expectHarmless(page);
  });
});

describe.skipIf(!isChromiumInstalled)("the page of a gateway with a hostile server", () => {
  const uri = "ui://plain/app";
  const longOrigins = ["a", "b", "c"].map((letter) => `https://${`${letter.repeat(60)}.`.repeat(4)}example.com`);
  const csp = { connectDomains: [...longOrigins, "https://collector.example.com"] };
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: hostileName, version: "1".repeat(100_000) },
    },
    "tools/list": { tools: [{ name: "app", inputSchema: { type: "object" }, _meta: { ui: { resourceUri: uri } } }] },
    "tools/call": { content: [{ type: "text", text: "done" }] },
    "resources/list": { resources: [{ uri, name: "app" }] },
    "resources/templates/list": { resourceTemplates: [] },
    "resources/read": { contents: [{ uri, mimeType: "text/html", text: "<p>Hello</p>", _meta: { ui: { csp } } }] },
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: unknown; method: string };
    const result = results[method];
    const outcome = result === undefined ? { error: { code: -32_601, message: "Method not found" } } : { result };
    if (id === undefined) response.writeHead(202).end();
    else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
    }
  });
  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  const gateway = usePageGateway({
    args(folder) {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
      const mcpServers = { plain: { type: "http", url }, [hostileName]: { type: "http", url } };
      const file = join(folder, "servers.json");
      writeFileSync(file, JSON.stringify({ mcpServers }));
      return ["--config", file, "--trust"];
    },
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test("shows hidden characters of a server's name, and of what it says about itself, as escapes in every view", async () => {
    const page = await gateway.open("/servers/plain");
    const goTo = (path: string) => page.goto(new URL(path, gateway.url).href);
    await page.getByText("Software", { exact: true }).waitFor();
    await expectHarmless(page);
    for (const path of ["/overview", "/explain", `/explain/${encodeURIComponent(hostileName)}`]) {
      await goTo(path);
      await page.getByText("pay\\u200bments\\u202eylppa").first().waitFor();
      await expectHarmless(page);
      await page.keyboard.press("Control+k");
      await page.getByRole("option").filter({ hasText: "Explain pay" }).waitFor();
      await expectHarmless(page);
    }
    const view = `/servers/${encodeURIComponent(hostileName)}`;
    await goTo(`/overview?panel=${encodeURIComponent(view)}`);
    await page.getByRole("complementary", { name: "Server" }).getByRole("heading", { level: 1 }).waitFor();
    await expectHarmless(page);
    await goTo(view);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expectHarmless(page);
  });

  test("names every origin that an app asks to load from, behind long ones too", async () => {
    const page = await gateway.open("/tools?name=plain__app");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const caption = page.locator("figcaption");
    await caption.waitFor();
    expect(await caption.textContent()).toMatch(/, https:\/\/collector\.example\.com$/);
    await page.frameLocator("iframe").getByText("Hello", { exact: true }).waitFor();
    await expectHarmless(page);
  });

  test("says that the gateway did not respond if an action fails because the connection is lost", async () => {
    const page = await gateway.open("/tools?name=plain__app");
    gateway.expectProblems(/ERR_INTERNET_DISCONNECTED|^failed: /);
    const run = page.getByRole("button", { name: "Run", exact: true });
    await run.waitFor();
    await page.context().setOffline(true);
    // The call fails, and so does the request for the app.
    await run.click();
    const note =
      "The gateway did not respond, so it is not known whether the request took effect. Wait until the page is live, look at the state, then try again.";
    await page
      .getByRole("region", { name: "Result" })
      .getByRole("alert")
      .getByText(note, { exact: true })
      .first()
      .waitFor();
    await page.context().setOffline(false);
    await page.getByText("live", { exact: true }).waitFor();
  });
});
