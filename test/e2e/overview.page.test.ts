import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ChannelSchema, SocketSchema, SubchannelSchema } from "@wirescope/channelz/client";
import { createSnapshot, noCounters, objectKey, type SnapshotObject } from "@wirescope/channelz/timeline";
import { createRecording } from "@wirescope/channelz/timeline/node";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { isChromiumInstalled } from "./chromium.test.helper.js";
import { checkAccessibility, phone, usePageGateway } from "./page.test.helper.js";
import { type RealServer, startEverything } from "./real-servers.test.helper.js";

/** The clock of the demonstration, which needs no sign-in. */
const clockServer = fileURLToPath(new URL("../../packages/cli/bundle/clock-server.mjs", import.meta.url));

function rowOf(page: Page, server: string): ReturnType<Page["locator"]> {
  return page.getByRole("table", { name: "servers" }).getByRole("row").filter({ hasText: server });
}

describe.skipIf(!isChromiumInstalled)("the overview of the demonstration", () => {
  const gateway = usePageGateway({ args: () => ["--demo"] });

  test("shows each server with its state, and what needs attention with the button for it", async () => {
    const page = await gateway.open();
    await page.getByText("of 4").waitFor();
    await rowOf(page, "clock").getByText("connected", { exact: true }).waitFor();
    await rowOf(page, "notes").getByText("not signed in", { exact: true }).waitFor();
    await rowOf(page, "ledger").getByText("credential refused", { exact: true }).waitFor();
    const attention = page.getByRole("region", { name: "Needs attention" });
    await expect.poll(() => attention.getByRole("listitem").count()).toBe(2);
    await expect.poll(() => attention.textContent()).toContain("expired");
    await expect.poll(() => attention.textContent()).toMatch(/began (?:now|\d+ (?:s|min) ago)/);
    // The visitor of the demonstration calls the clock and the weather.
    await expect.poll(() => rowOf(page, "clock").textContent()).toMatch(/\d ms/);
    await checkAccessibility(page);
  });

  test("signs in to a server from the page, shows that it worked, and signs out again", async () => {
    const page = await gateway.open();
    await page.getByRole("region", { name: "Needs attention" }).getByRole("button", { name: "Sign in" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in to notes" });
    await dialog
      .getByRole("definition")
      .filter({ hasText: /^notes:read$/ })
      .waitFor();
    await dialog.getByText("of the OAuth flow").waitFor();
    const [popup] = await Promise.all([
      page.context().waitForEvent("page"),
      dialog.getByRole("link", { name: "Continue at" }).click(),
    ]);
    await popup.getByRole("button", { name: "Allow" }).click();
    await dialog.getByText("Signed in to notes.").waitFor();
    await popup.close();
    await checkAccessibility(page);
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await rowOf(page, "notes").getByText("connected", { exact: true }).waitFor();

    await rowOf(page, "notes").click();
    const panel = page.getByRole("complementary", { name: "Server" });
    await panel.getByRole("button", { name: "Sign out" }).click();
    const question = page.getByRole("dialog", { name: "Sign out of notes" });
    await question.getByRole("button", { name: "Sign out" }).click();
    await question.getByText("Deleted the tokens").waitFor();
    await question.getByRole("button", { name: "Close" }).last().click();
    await rowOf(page, "notes").getByText("not signed in", { exact: true }).waitFor();
  });

  test("explains a server step by step, with the evidence and the fix", async () => {
    const page = await gateway.open("/explain");
    await page.getByRole("link", { name: "ledger" }).click();
    await page.getByRole("heading", { name: "The token has expired." }).waitFor();
    const steps = page.getByRole("region", { name: "Steps" });
    await expect.poll(() => steps.textContent()).toContain("The server returned 401 to the headers of the entry.");
    await checkAccessibility(page);
    await page.getByRole("button", { name: "Run again" }).click();
    await page.getByRole("heading", { name: "The token has expired." }).waitFor();
  });

  test("[TS-D-PAGE-11] starts a diagnosis that an external link opens only after a click", async () => {
    for (const path of ["/explain/ledger", "/?panel=/explain/ledger"]) {
      const page = await gateway.open(path);
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      const run = page.getByRole("button", { name: "Run", exact: true });
      await run.waitFor();
      expect(await page.getByRole("region", { name: "Steps" }).count()).toBe(0);
      expect(asked.filter((url) => url.includes("Explain"))).toEqual([]);
      await run.click();
      await page.getByRole("heading", { name: "The token has expired." }).waitFor();
      expect(asked.filter((url) => url.includes("Explain"))).toHaveLength(1);
    }
  });

  test("works by keyboard: the palette opens a server, and Escape closes its panel", async () => {
    const page = await gateway.open();
    await rowOf(page, "ledger").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("ledger");
    await page.getByRole("option", { selected: true }).getByText("ledger").first().waitFor();
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary", { name: "Server" });
    await panel.getByRole("heading", { name: "ledger" }).waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("panel")).toBe("/servers/ledger");
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    // The page waits a second for the second key, and a busy machine may take longer to send it.
    await expect
      .poll(async () => {
        await page.keyboard.press("g");
        await page.keyboard.press("e");
        return new URL(page.url()).pathname;
      })
      .toBe("/explain");
  });

  test("finds an object by its kind and address in the palette, and opens it", async () => {
    const page = await gateway.open("/connections?as=table");
    const { port } = new URL(gateway.url);
    await page.getByRole("cell", { name: `127.0.0.1:${port}`, exact: true }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type(`socket ${port}`);
    await page.getByRole("option", { selected: true }).getByText(`127.0.0.1:${port}`).waitFor();
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary", { name: "Object" });
    await panel.getByRole("heading", { name: `127.0.0.1:${port}` }).waitFor();
  });

  test("opens and closes the palette in the same turn as its key, so that the next key reaches it", async () => {
    const page = await gateway.open();
    await rowOf(page, "ledger").waitFor();
    const isReady = await page.evaluate(() => {
      const press = (key: string): boolean => {
        const event = new KeyboardEvent("keydown", { key, ctrlKey: key === "k", bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
        return document.activeElement?.matches("dialog[open] [role=combobox]") === true;
      };
      return [press("/"), press("k"), press("k")];
    });
    expect(isReady).toEqual([true, false, true]);
    await page.keyboard.type("ledger");
    await page.getByRole("option", { selected: true }).getByText("ledger").first().waitFor();
  });

  test("goes back in time with the slider, marks the past, and returns to now with a key", async () => {
    const page = await gateway.open();
    const slider = page.getByRole("slider", { name: "Moment that the page shows" });
    // There is a past only after some samples.
    await expect
      .poll(async () => Number(await slider.getAttribute("max")) - Number(await slider.getAttribute("min")))
      .toBeGreaterThan(2000);
    await slider.focus();
    await page.keyboard.press("Home");
    await page.getByText("in the past").waitFor();
    // Actions of that moment cannot be taken now.
    await expect.poll(() => page.getByRole("button", { name: "Sign in" }).count()).toBe(0);
    await checkAccessibility(page);
    await page.keyboard.press("n");
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
  });

  test.each([
    ["light", "screen", {}],
    ["dark", "screen", {}],
    ["light", "phone", phone],
  ] as const)("passes the accessibility check in %s colours on a %s", async (colorScheme, _name, screen) => {
    const page = await gateway.open("/?panel=/servers/notes", { colorScheme, ...screen });
    await page.getByRole("complementary", { name: "Server" }).getByRole("heading", { name: "notes" }).waitFor();
    await checkAccessibility(page);
    const width = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(width).toBe(0);
    if (screen === phone) {
      await page.getByRole("button", { name: "Close panel" }).click();
      await rowOf(page, "notes").waitFor();
      await checkAccessibility(page);
    }
  });

  test.each([360, 320])("keeps the labels of the views apart in a window of %i px", async (width) => {
    const page = await gateway.open("/", { viewport: { width, height: 640 } });
    const labels = page.getByRole("navigation", { name: "Views" }).locator("a span");
    await labels.nth(5).waitFor();
    const boxes = await labels.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().toJSON()));
    for (const [index, { left, right }] of boxes.entries()) {
      expect(left - (boxes[index - 1]?.right ?? -8)).toBeGreaterThanOrEqual(4);
      expect(right).toBeLessThanOrEqual(width);
    }
  });
});

describe.skipIf(!isChromiumInstalled)("the overview of a configuration", () => {
  const gateway = usePageGateway({
    keepsPort: true,
    args(folder) {
      const file = join(folder, ".mcp.json");
      const entry = { command: process.execPath, args: [clockServer] };
      const hostile = { command: "/bin/nothing", args: ["<img src=x onerror=alert(1)>\u001b[31m"] };
      writeFileSync(file, JSON.stringify({ mcpServers: { clock: entry, "<b>bold</b>": hostile } }));
      return ["--config", file];
    },
  });

  test("shows the whole text before a server is approved, and connects it at once", async () => {
    const page = await gateway.open();
    await rowOf(page, "clock").getByText("not approved", { exact: true }).waitFor();
    const item = page
      .getByRole("region", { name: "Needs attention" })
      .getByRole("listitem")
      .filter({ hasText: "clock" });
    await item.getByRole("button", { name: "Review and approve" }).click();
    const dialog = page.getByRole("dialog", { name: "Approve clock" });
    await dialog.getByText("clock-server.mjs").first().waitFor();
    await checkAccessibility(page);
    await dialog.getByRole("button", { name: "Approve" }).click();
    await dialog.waitFor({ state: "detached" });
    await rowOf(page, "clock").getByText("connected", { exact: true }).waitFor();
  });

  test("shows markup and control characters in names and texts as text", async () => {
    const page = await gateway.open();
    await rowOf(page, "<b>bold</b>").waitFor();
    const item = page.getByRole("region", { name: "Needs attention" }).getByRole("listitem").filter({ hasText: "<b>" });
    await item.getByRole("button", { name: "Review and approve" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("onerror").first().waitFor();
    expect(await page.locator("main img, dialog img, main b").count()).toBe(0);
  });

  test("[TS-D-ADMIN-11] says that the gateway cannot use its edited configuration, until it is correct", async () => {
    const file = join(gateway.folder, ".mcp.json");
    const text = readFileSync(file, "utf8");
    const page = await gateway.open();
    const item = page
      .getByRole("region", { name: "Needs attention" })
      .getByRole("listitem")
      .filter({ hasText: "The previous configuration stays in use." });
    await rowOf(page, "clock").waitFor();
    expect(await item.count()).toBe(0);
    writeFileSync(file, "{");
    await item.getByText(file).waitFor();
    await checkAccessibility(page);
    writeFileSync(file, text);
    await item.waitFor({ state: "detached" });
  });

  test("keeps the columns of the other servers in view if one has a very long name", async () => {
    const file = join(gateway.folder, ".mcp.json");
    const text = readFileSync(file, "utf8");
    const name = `generated-${"long-".repeat(30)}name`;
    const page = await gateway.open("/", { viewport: { width: 768, height: 900 } });
    onTestFinished(() => writeFileSync(file, text));
    const { mcpServers } = JSON.parse(text);
    writeFileSync(file, JSON.stringify({ mcpServers: { ...mcpServers, [name]: mcpServers.clock } }));
    const row = rowOf(page, name);
    await row.waitFor();
    const [table, status] = await Promise.all([
      page.locator(".table-box").boundingBox(),
      row.getByText("not approved", { exact: true }).boundingBox(),
    ]);
    expect((status?.x ?? 0) + (status?.width ?? 0)).toBeLessThan((table?.x ?? 0) + (table?.width ?? 0));
    expect(await row.getByTitle(name).count()).toBe(1);
  });

  test("shows the first of many servers that need attention, and all of them after a click", async () => {
    const file = join(gateway.folder, ".mcp.json");
    const text = readFileSync(file, "utf8");
    const page = await gateway.open();
    onTestFinished(() => writeFileSync(file, text));
    const { mcpServers } = JSON.parse(text);
    const more = Array.from({ length: 40 }, (_, index) => [`more-${index}`, mcpServers["<b>bold</b>"]]);
    writeFileSync(file, JSON.stringify({ mcpServers: { ...mcpServers, ...Object.fromEntries(more) } }));
    const attention = page.getByRole("region", { name: "Needs attention" });
    await rowOf(page, "more-39").waitFor();
    const all = attention.getByRole("button", { name: /^Show all 4\d$/ });
    await all.waitFor();
    expect(await attention.getByRole("listitem").count()).toBe(20);
    await all.click();
    await attention.getByRole("link", { name: "more-39", exact: true }).waitFor();
  });

  test("says that the gateway stopped, and continues by itself when it is back", async () => {
    const page = await gateway.open("/?panel=/servers/clock");
    gateway.expectProblems(/ERR_|failed:|503 \(/);
    await rowOf(page, "clock").focus();
    await gateway.stop();
    await page.getByText(/^The gateway has not responded since \d.*Reconnecting…$/).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Review and approve" }).first().isDisabled()).toBe(true);
    await checkAccessibility(page);
    await gateway.start();
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByText("The gateway has not responded").waitFor({ state: "detached" });
    expect(await page.getByRole("button", { name: "Review and approve" }).first().isDisabled()).toBe(false);
    expect(await page.evaluate(() => document.activeElement?.getAttribute("data-key"))).toBe("clock");
    await page.getByRole("complementary", { name: "Server" }).getByRole("heading", { name: "clock" }).waitFor();
  });

  test("shows its own note for a path that does not exist", async () => {
    const page = await gateway.open();
    gateway.expectProblems(/404 \(/);
    await page.goto(new URL("/no/such-path", page.url()).href);
    await page.getByText("This page does not exist.").waitFor();
    await page.getByRole("link", { name: "Open the overview" }).click();
    await rowOf(page, "clock").waitFor();
  });

  test("says that a suspended gateway does not respond, although its connections stay open", async () => {
    const page = await gateway.open();
    await rowOf(page, "clock").waitFor();
    gateway.suspend();
    onTestFinished(gateway.resume);
    // 5 s, and some for a busy machine.
    await page.getByText("The gateway has not responded since").waitFor({ timeout: 8000 });
    gateway.resume();
    await page.getByText("live", { exact: true }).waitFor();
  });

  test("[TS-D-PAGE-10] sends nothing usable to a program that took the port of the gateway", async () => {
    const page = await gateway.open();
    gateway.expectProblems(/ERR_|failed:|503 \(|404 \(/);
    const key = (await page.evaluate(() => localStorage.getItem("wirescope.key"))) ?? "";
    expect(key).toMatch(/^[\w-]{43}$/);
    const seen: IncomingHttpHeaders[] = [];
    const thief = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(404).end();
    });
    await gateway.stop();
    await once(thief.listen(Number(new URL(gateway.url).port), "127.0.0.1"), "listening");
    await expect.poll(() => seen.length).toBeGreaterThan(1);
    thief.closeAllConnections();
    await new Promise((resolve) => thief.close(resolve));
    await gateway.start();
    await page.getByText("live", { exact: true }).waitFor();
    expect(JSON.stringify(seen)).not.toContain(key);
    for (const { cookie = "", "x-wirescope-csrf": proof = "" } of seen) {
      const { status } = await fetch(new URL("/session", gateway.url), {
        headers: { cookie, "x-wirescope-csrf": String(proof) },
      });
      expect([401, 403]).toContain(status);
    }
  });

  test("[TS-D-PAGE-12] opens a recording in the browser, moves through it, and returns to what is live", async () => {
    const file = join(gateway.folder, "night.wsr");
    const writer = createRecording(file);
    for (const [timeMs, state] of [[1_700_000_000_000, 3] as const, [1_700_000_060_000, 4] as const]) {
      const message = create(ChannelSchema, {
        ref: { channelId: 1n, name: "orders" },
        data: {
          target: "orders:443",
          state: { state },
          lastCallStartedTimestamp: timestampFromMs(1_699_999_990_000),
        },
      });
      const channel: SnapshotObject = {
        key: objectKey("", "channel", 1n),
        origin: "",
        kind: "channel",
        id: 1n,
        name: "orders",
        isTop: true,
        state: state === 3 ? "READY" : "TRANSIENT_FAILURE",
        target: "orders:443",
        counters: noCounters,
        children: [],
        message,
      };
      writer.append(createSnapshot({ timeMs, origins: [{ name: "", target: "" }], objects: [channel] }));
    }
    writer.close();
    const page = await gateway.open("/history");
    await page.locator("input[type=file]").setInputFiles(file);
    await page.getByText("recording night.wsr").waitFor();
    const change = page.getByRole("table", { name: "changes" }).getByRole("row", { name: /READY → TRANSIENT_FAILURE/ });
    await change.getByText("at this moment", { exact: true }).waitFor();
    await checkAccessibility(page);
    // Times of a recording are relative to the moment that is shown, however long ago that is.
    await change.getByRole("link", { name: "channel 1" }).click();
    await page.getByText("1 min earlier", { exact: true }).waitFor();
    await page.getByRole("slider").focus();
    await page.keyboard.press("Home");
    await page.getByText("10 s earlier", { exact: true }).waitFor();
    await page.keyboard.press("End");
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("table", { name: "problems" }).getByText("orders:443").waitFor();
    await page.getByRole("slider").focus();
    await page.keyboard.press("Home");
    await page.getByText("Nothing is failing.").waitFor();
    await page.getByRole("button", { name: "Close night.wsr" }).click();
    await rowOf(page, "clock").waitFor();

    writeFileSync(file, "not a recording");
    await page.getByRole("link", { name: "History" }).click();
    await page.locator("input[type=file]").setInputFiles(file);
    await page.getByRole("alert").getByText("night.wsr cannot be opened.").waitFor();
  });

  test("names the server of each change in the history, also after its channel closed", async () => {
    const file = join(gateway.folder, "closed.wsr");
    const writer = createRecording(file);
    const shared = { origin: "", isTop: false, counters: noCounters };
    const channel = (id: bigint, name: string, state: "IDLE" | "READY", child?: bigint): SnapshotObject => {
      const target = `https://${name}.example/mcp`;
      const subchannelRef = child === undefined ? [] : [{ subchannelId: child }];
      return {
        ...shared,
        key: objectKey("", "channel", id),
        kind: "channel",
        id,
        name,
        isTop: true,
        state,
        target,
        children: subchannelRef.map(({ subchannelId }) => objectKey("", "subchannel", subchannelId)),
        message: create(ChannelSchema, {
          ref: { channelId: id, name },
          data: { target, state: { state: state === "IDLE" ? 1 : 3 } },
          subchannelRef,
        }),
      };
    };
    const subchannel = (id: bigint, state: "IDLE" | "READY"): SnapshotObject => {
      const target = "https://stock.example";
      return {
        ...shared,
        key: objectKey("", "subchannel", id),
        kind: "subchannel",
        id,
        name: "",
        state,
        target,
        children: [],
        message: create(SubchannelSchema, {
          ref: { subchannelId: id },
          data: { target, state: { state: state === "IDLE" ? 1 : 3 } },
        }),
      };
    };
    for (const [index, objects] of [
      [channel(1n, "orders", "READY"), channel(2n, "stock", "READY", 3n), subchannel(3n, "READY")],
      [channel(1n, "orders", "IDLE"), channel(2n, "stock", "READY", 3n), subchannel(3n, "IDLE")],
      [channel(2n, "stock", "IDLE", 3n), subchannel(3n, "IDLE")],
    ].entries()) {
      const timeMs = 1_700_000_000_000 + index * 60_000;
      writer.append(createSnapshot({ timeMs, origins: [{ name: "", target: "" }], objects }));
    }
    writer.close();
    const page = await gateway.open("/history");
    await page.locator("input[type=file]").setInputFiles(file);
    await page.getByText("recording closed.wsr").waitFor();
    const rows = page.getByRole("table", { name: "changes" }).locator("tbody tr");
    await rows.nth(2).waitFor();
    const cells = (): Promise<unknown[][]> =>
      rows.evaluateAll((all) =>
        all.map((row) => [...row.querySelectorAll("td")].slice(2, 4).map((cell) => cell.textContent)),
      );
    await expect
      .poll(async () => (await cells()).sort(), { timeout: 15_000 })
      .toEqual([
        ["channel 1", "orders"],
        ["channel 2", "stock"],
        ["subchannel 3", "stock"],
      ]);
  });

  test("[TS-D-PAGE-12] checks the certificate of a recorded socket against the shown moment, and does not show unknown security as none", async () => {
    const pem = readFileSync(new URL("../certificates/server.pem", import.meta.url));
    const { raw, validFrom, validTo } = new X509Certificate(pem);
    const file = join(gateway.folder, "certificate.wsr");
    const writer = createRecording(file);
    const tls = { model: { case: "tls", value: { remoteCertificate: new Uint8Array(raw) } } } as const;
    const objects = [{ security: tls }, {}].map((fields, index): SnapshotObject => {
      const id = BigInt(index + 1);
      const message = create(SocketSchema, { ref: { socketId: id }, ...fields });
      const facts = { key: objectKey("", "socket", id), origin: "", id, name: "", isTop: false };
      return { ...facts, kind: "socket", counters: noCounters, children: [], message };
    });
    for (const timeMs of [Date.parse(validFrom) - 60_000, Date.parse(validTo) + 60_000]) {
      writer.append(createSnapshot({ timeMs, origins: [{ name: "", target: "" }], objects }));
    }
    writer.close();
    const page = await gateway.open("/history");
    await page.locator("input[type=file]").setInputFiles(file);
    await page.getByText("recording certificate.wsr").waitFor();
    const show = (id: number): Promise<void> =>
      page.evaluate((address) => {
        history.pushState(null, "", address);
        dispatchEvent(new PopStateEvent("popstate"));
      }, `/object/socket/${id}`);
    await show(1);
    await page.getByText("expired", { exact: true }).waitFor();
    await page.getByRole("slider").focus();
    await page.keyboard.press("Home");
    await page.getByText("not valid yet", { exact: true }).waitFor();
    await show(2);
    await page.getByText("Security is read from open sockets only, not for the past.").waitFor();
  });
});

describe.skipIf(!isChromiumInstalled)("the overview of a server that dies", () => {
  let server: RealServer;
  beforeAll(async () => {
    server = await startEverything("streamableHttp", await freePort());
  });
  afterAll(() => server.stop());
  const gateway = usePageGateway({
    args(folder) {
      const file = join(folder, ".mcp.json");
      const url = `http://127.0.0.1:${server.port}/mcp`;
      writeFileSync(file, JSON.stringify({ mcpServers: { everything: { type: "http", url } } }));
      return ["--config", file, "--trust"];
    },
  });

  test("wraps the reason of a failure that contains a very long name", async () => {
    const file = join(gateway.folder, ".mcp.json");
    const text = readFileSync(file, "utf8");
    const name = "x".repeat(300);
    const page = await gateway.open();
    onTestFinished(() => writeFileSync(file, text));
    const entry = { type: "http", url: "http://127.0.0.1:9/mcp" };
    writeFileSync(file, JSON.stringify({ mcpServers: { ...JSON.parse(text).mcpServers, [name]: entry } }));
    await rowOf(page, `${name.slice(0, 200)}…`).waitFor();
    await page.goto(new URL(`/servers/${name}`, gateway.url).href);
    await page.getByText("not reachable", { exact: true }).waitFor();
    const overflow = await page.evaluate(() => {
      const { scrollWidth = 0, clientWidth = 0 } = document.querySelector("main") ?? {};
      return scrollWidth - clientWidth;
    });
    expect(overflow).toBe(0);
  });

  test("shows the retries of a server that fails as one row with their number, and without a red tick for each", async () => {
    const page = await gateway.open("/history");
    const rows = page.getByRole("table", { name: "changes" }).locator("tbody tr");
    await page.getByText("live", { exact: true }).waitFor();
    await server.stop();
    const failures = rows.filter({ hasText: "TRANSIENT_FAILURE" }).filter({ hasText: /channel \d/ });
    const ticks = async () => (await page.locator(".time-bar-failing").getAttribute("d"))?.match(/M/g)?.length;
    await failures.filter({ hasText: /[1-9] failed retr/ }).waitFor();
    const first = await ticks();
    await failures.filter({ hasText: /[3-9] failed retries/ }).waitFor();
    const objects = await failures.locator("a").allTextContents();
    expect(new Set(objects).size).toBe(objects.length);
    expect(await ticks()).toBe(first);
    await checkAccessibility(page);
    server = await startEverything("streamableHttp", server.port);
    await rows.filter({ hasText: "READY" }).first().waitFor();
  });

  test("says so by itself, and that the server is back, without moving the focus", async () => {
    const page = await gateway.open();
    const row = rowOf(page, "everything");
    const attention = page.getByRole("region", { name: "Needs attention" }).getByRole("listitem");
    await row.getByText("connected", { exact: true }).waitFor();
    await row.focus();
    await server.stop();
    await attention.filter({ hasText: "everything" }).waitFor();
    server = await startEverything("streamableHttp", server.port);
    await row.getByText("connected", { exact: true }).waitFor();
    await expect.poll(() => attention.count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.getAttribute("data-key"))).toBe("everything");
  });
});
