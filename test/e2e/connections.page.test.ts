import { type ChannelzListener, createRegistry, listenChannelz } from "@wirescope/channelz";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { isChromiumInstalled } from "./chromium.test.helper.js";
import { checkAccessibility } from "./page.test.helper.js";
import { useTargetPage } from "./page-target.test.helper.js";

/** A long string with markup, a control character and a bidirectional override. */
const hostileName = `<img src=x onerror=alert(1)>\u0007\u202e${"long ".repeat(2000)}`;
const ip = "127.0.0.1";

const registry = createRegistry();
let listener: ChannelzListener;
const server = registry.addServer({ name: "orders-api" });
const listening = registry.addListenSocket({ server, local: { ip, port: 8080 } });
const clients = Array.from({ length: 45 }, (_, index) =>
  registry.addSocket({ server, local: { ip, port: 8080 }, remote: { ip, port: 20_000 + index } }),
);
const clock = registry.addChannel({ name: "clock", target: "dns:///clock.internal:443", state: "READY" });
const clockSubchannel = registry.addSubchannel({ parent: clock, target: "10.0.0.7:443", state: "READY" });
const clockSocket = registry.addSocket({
  parent: clockSubchannel,
  local: { ip, port: 40_000 },
  remote: { ip: "10.0.0.7", port: 443 },
});
const notes = registry.addChannel({ name: "notes", state: "TRANSIENT_FAILURE" });
const hostile = registry.addChannel({ name: hostileName, target: hostileName, state: "READY" });
/** The registry forgets what nobody holds. */
const held: unknown[] = [listening, clients, clockSocket, notes, hostile];

const targetPage = useTargetPage(async () => {
  listener = await listenChannelz(registry);
  return [listener.address];
});
afterAll(() => listener.close({ deadlineMs: 0 }));

const node = (page: Page, id: string) => page.locator(`[data-node="${id}"]`);

describe.skipIf(!isChromiumInstalled)("the view Connections", () => {
  test("shows every object as a node that opens it in the panel", async () => {
    const page = await targetPage.open("/connections");
    // The server, its listener, three channels, a subchannel and a socket; the clients are one group.
    await expect.poll(() => page.locator("a.node").count()).toBe(7);
    const links = await page.locator("a.node").evaluateAll((all) => all.map((each) => each.getAttribute("href") ?? ""));
    for (const link of links) {
      await page.locator(`a.node[href="${link}"]`).click();
      await page.getByRole("complementary", { name: "Object" }).waitFor();
      const [, , kind = "", id = ""] = link.split("/");
      await expect.poll(() => page.locator(".object-kind").textContent()).toContain(`${kind} ${id}`);
      await expect.poll(() => new URL(page.url()).searchParams.get("panel")).toBe(link);
    }
    await page.getByRole("button", { name: /10\.0\.0\.7:443.*remote address/ }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe("10.0.0.7:443");
  });

  test("marks problems by colour, shape and word, and finds them by a filter that is in the address", async () => {
    const page = await targetPage.open("/connections");
    await expect.poll(() => node(page, `|channel|${notes.id}`).textContent()).toContain("transient failure");
    await page.getByRole("button", { name: /^problems 1$/ }).click();
    await node(page, `|channel|${clock.id}`).waitFor({ state: "detached" });
    await expect.poll(() => new URL(page.url()).searchParams.get("state")).toBe("problem");
    await page.reload();
    await node(page, `|channel|${notes.id}`).waitFor();
    await expect.poll(() => page.locator("a.node").count()).toBe(1);
    await page.getByRole("button", { name: /^problems/ }).click();
    await page.getByRole("searchbox", { name: "Search objects" }).fill("clock");
    await node(page, `|channel|${notes.id}`).waitFor({ state: "detached" });
    await node(page, `|socket|${clockSocket.id}`).waitFor();
    await page.getByRole("searchbox", { name: "Search objects" }).fill("nothing like this");
    await page.getByText("Nothing matches the search and the filter.").waitFor();
    await page.getByRole("button", { name: "Show everything" }).click();
    await node(page, `|channel|${notes.id}`).waitFor();
  });

  test("folds clients into a group that opens and closes, and moves nothing when an object appears", async () => {
    const page = await targetPage.open("/connections");
    const group = page.getByRole("button", { name: /^45 clients/ });
    expect(await group.getAttribute("aria-expanded")).toBe("false");
    await group.click();
    await expect.poll(() => group.getAttribute("aria-expanded")).toBe("true");
    await expect.poll(() => node(page, `|socket|${clients[0]?.id}`).count()).toBe(1);
    await group.click();
    await node(page, `|socket|${clients[0]?.id}`).waitFor({ state: "detached" });

    const positions = () =>
      page
        .locator(".graph-nodes > li")
        .evaluateAll((all) =>
          Object.fromEntries(
            all.map((each) => [
              each.querySelector("[data-node]")?.getAttribute("data-node"),
              (each as HTMLElement).style.transform,
            ]),
          ),
        );
    const before = await positions();
    const added = registry.addChannel({ name: "added later", state: "IDLE" });
    held.push(added);
    await node(page, `|channel|${added.id}`).waitFor();
    expect(await positions()).toMatchObject(before);
    added.close();
    await node(page, `|channel|${added.id}`).waitFor({ state: "detached" });
  });

  test("moves by arrow keys, opens by Enter and returns by Escape, without a pointer", async () => {
    const page = await targetPage.open("/connections");
    await page.locator(".node").first().waitFor();
    const view = () => page.locator(".graph-space").evaluate((element) => (element as HTMLElement).style.transform);
    const before = await view();
    await page.locator('.node[tabindex="0"]').focus();
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("data-node"));
    expect(await focused()).toBe("process|");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(focused).toBe(`|server|${server.id}`);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await expect.poll(focused).toMatch(/^\|channel\|/);
    while ((await focused()) !== `|channel|${clock.id}`) await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowRight");
    await expect.poll(focused).toBe(`|subchannel|${clockSubchannel.id}`);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "10.0.0.7:443" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("complementary", { name: "Object" }).waitFor({ state: "detached" });
    await expect.poll(focused).toBe(`|subchannel|${clockSubchannel.id}`);
    await page.keyboard.press("+");
    await expect.poll(view).toContain("scale(0.9)");
    await page.keyboard.press("0");
    await expect.poll(view).toBe(before);
  });

  test("shows the same as a tree for screen readers, and as a table that can be sorted", async () => {
    const page = await targetPage.open("/connections?as=tree");
    await page.getByRole("tree", { name: "Connections" }).waitFor();
    const item = (name: RegExp) => page.getByRole("treeitem", { name });
    expect(await item(/channel clock/).getAttribute("aria-level")).toBe("2");
    await page.locator('[role=treeitem][tabindex="0"]').focus();
    await page.keyboard.press("c");
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(focused).toContain("clock");
    await page.keyboard.press("ArrowLeft");
    await item(/subchannel/).waitFor({ state: "detached" });
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await expect.poll(focused).toContain("10.0.0.7:443");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "10.0.0.7:443" }).waitFor();
    await page.keyboard.press("Escape");

    await page.getByRole("tab", { name: "Table" }).click();
    const rows = page.getByRole("table", { name: "objects" }).locator("tbody tr");
    await expect.poll(() => rows.first().textContent()).toContain("notes");
    await page.getByRole("button", { name: "Object" }).click();
    await expect.poll(() => rows.first().textContent()).toContain("orders-api");
    await rows.first().click();
    await page.getByRole("heading", { name: "orders-api" }).waitFor();
  });

  test("shows names with markup, control characters and 10,000 characters as text", async () => {
    const page = await targetPage.open(`/connections?panel=/object/channel/${hostile.id}`);
    await page.getByRole("heading", { name: /^<img src=x onerror=alert\(1\)>\\x07\\u202elong/ }).waitFor();
    for (const as of ["graph", "tree", "table"]) {
      await page.getByRole("tab", { name: as[0]?.toUpperCase() + as.slice(1) }).click();
      await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
    }
    expect(await page.locator("img").count()).toBe(0);
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(width).toBeLessThanOrEqual(0);
  });

  test("starts with the tree on a phone, without scrolling sideways, and shows the graph on request", async () => {
    const page = await targetPage.open("/connections", { viewport: { width: 390, height: 844 }, hasTouch: true });
    await page.getByRole("tree", { name: "Connections" }).waitFor();
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.getByRole("tab", { name: "Graph" }).click();
    await page.locator(".node").first().waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.getByRole("tab", { name: "Table" }).click();
    await page.getByText("notes").first().click();
    await page.getByRole("heading", { name: "notes" }).waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
  });

  test.each(["light", "dark"] as const)("passes axe in every presentation, in %s colours", async (colorScheme) => {
    const page = await targetPage.open("/connections?as=graph", { colorScheme });
    for (const [tab, shown] of [
      ["Graph", ".node"],
      ["Table", ".table td"],
      ["Tree", ".tree-row"],
    ] as const) {
      await page.getByRole("tab", { name: tab }).click();
      await page.locator(shown).first().waitFor();
      await checkAccessibility(page);
    }
  });
});
