import { fileURLToPath } from "node:url";
import { AxeBuilder } from "@axe-core/playwright";
import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createPageAccess, type PageAccess } from "@wirescope/gateway/internal/page";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isChromiumInstalled, openPage } from "./chromium.test.helper.js";
import { checkAccessibility } from "./page.test.helper.js";
import {
  type LegacyTryServer,
  startHostileTryServer,
  startLegacyTryServer,
  startTaskTryServer,
  type TaskTryServer,
  type TryServer,
} from "./page-tools.test.helper.js";
import { everything } from "./real-servers.test.helper.js";

const screenshots = process.env.WIRESCOPE_SCREENSHOTS;

describe.skipIf(!isChromiumInstalled)("the tools of the page", () => {
  let tryServer: LegacyTryServer;
  let taskServer: TaskTryServer;
  let hostileServer: TryServer;
  let gateway: Gateway;
  let access: PageAccess;

  beforeAll(async () => {
    [tryServer, taskServer, hostileServer] = await Promise.all([
      startLegacyTryServer(),
      startTaskTryServer(),
      startHostileTryServer(),
    ]);
    access = createPageAccess();
    const entries = {
      try: { type: "http", url: tryServer.url },
      hostile: { type: "http", url: hostileServer.url },
      jobs: { type: "http", url: taskServer.url },
      everything: { type: "stdio", command: process.execPath, args: [everything] },
    };
    gateway = await runGateway({
      configurations: [
        {
          configuration: parseConfiguration(JSON.stringify({ mcpServers: entries })),
          variables: { PATH: process.env.PATH },
          pluginRoot: process.cwd(),
          assertTrusted: async () => {},
        },
      ],
      secrets: createSecretRegistry(),
      page: { access, assets: fileURLToPath(new URL("../../packages/cli/page/", import.meta.url)) },
    });
    await vi.waitUntil(() => gateway.servers().every(({ state }) => state === "READY"), { timeout: 60_000 });
  });
  afterAll(async () => {
    await gateway?.close({ graceMs: 0 });
    await Promise.all([tryServer?.close(), taskServer?.close(), hostileServer?.close()]);
  });

  /** The page at a path, and its problems. The link is opened once: the next test has its cookie and key. */
  let storageState: BrowserContextOptions["storageState"];
  const open = async (
    address: string,
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; problems: readonly string[] }> => {
    const { page, problems } = await openPage({ ...options, ...(storageState && { storageState }) });
    if (storageState === undefined) {
      await page.goto(access.linkTo(gateway.url ?? ""));
      await page.getByRole("link", { name: "Tools" }).first().waitFor();
      storageState = await page.context().storageState();
      // The streams of this page end when it is left.
      await page.goto(new URL("/app-frame", gateway.url).href);
      problems.length = 0;
    }
    await page.goto(new URL(address, gateway.url).href);
    await page.getByRole("tab", { name: /^Tools/ }).waitFor();
    return { page, problems };
  };
  /** Ignores requests that the page itself cancels. */
  const wrong = (problems: readonly string[]): readonly string[] =>
    problems.filter((problem) => !/^failed: .*\/mcp$/.test(problem));
  const run = (page: Page): Promise<void> => page.getByRole("button", { name: "Run", exact: true }).click();
  const result = (page: Page): ReturnType<Page["getByRole"]> => page.getByRole("region", { name: "Result" });
  const snap = async (page: Page, name: string): Promise<void> => {
    if (screenshots !== undefined) await page.screenshot({ path: `${screenshots}/${name}.png` });
  };

  test("finds a tool by search, validates its arguments, runs it and shows the result", async () => {
    const { page, problems } = await open("/tools");
    await page.getByRole("searchbox", { name: "Search tools" }).fill("try add");
    await page.getByRole("link", { name: /^add/ }).click();
    await snap(page, "tool");
    await run(page);
    await expect.poll(() => page.getByText("Required.").count()).toBe(2);
    await page.getByLabel("a *").fill("2");
    await page.getByLabel("b *").fill("-3");
    await run(page);
    await page.getByText("-3 is less than 0").waitFor();
    await page.getByLabel("b *").fill("3");
    await page.keyboard.press("Control+Enter");
    await result(page).getByText("done").waitFor();
    expect(await result(page).locator("pre").textContent()).toBe("5");
    await page.getByRole("tab", { name: "Structured" }).click();
    expect(JSON.parse((await result(page).locator("pre").textContent()) ?? "")).toEqual({ sum: 5 });
    await snap(page, "tool-result");
    expect(wrong(problems)).toEqual([]);
  });

  test("keeps Run and the result of a tall form in view, names what is wrong, and keeps both over a reload", async () => {
    const { page, problems } = await open("/tools?name=try__order", { viewport: { width: 1000, height: 600 } });
    await page.getByLabel("line1 *").waitFor();
    const button = page.getByRole("button", { name: "Run", exact: true });
    const isInView = (locator: ReturnType<Page["locator"]>): Promise<boolean> =>
      locator.evaluate((element) => {
        const { top, bottom, left } = element.getBoundingClientRect();
        return element.contains(document.elementFromPoint(left + 2, (top + bottom) / 2));
      });
    expect(await isInView(button)).toBe(true);
    await page.getByLabel("line1 *").fill("first");
    await button.click();
    await page.getByRole("alert").getByText("15 fields need a value.").waitFor();
    await expect
      .poll(() => page.getByLabel("line2 *").evaluate((field) => field === document.activeElement))
      .toBe(true);
    expect(await isInView(page.getByLabel("line2 *"))).toBe(true);
    await checkAccessibility(page);
    for (let line = 2; line <= 14; line += 1) await page.getByLabel(`line${line} *`).fill("x");
    await page.getByLabel("zip *").fill("12");
    await page.getByLabel("Kind", { exact: true }).selectOption({ label: "bank" });
    await page.getByLabel("iban *").fill("DE0");
    await button.click();
    await page.getByText("1 field needs a valid value.").waitFor();
    await page.getByText("Does not match: Five digits").waitFor();
    await page.getByLabel("zip *").fill("12345");
    await button.click();
    await result(page).getByText("ordered to 12345").waitFor();
    await expect.poll(() => isInView(result(page).getByText("ordered to 12345"))).toBe(true);
    await checkAccessibility(page);

    await page.reload();
    await expect.poll(() => page.getByLabel("zip *").inputValue()).toBe("12345");
    await result(page).getByText("ordered to 12345").waitFor();
    expect(wrong(problems)).toEqual([]);
  });

  test("scrolls the tool of a link into view", async () => {
    const { page } = await open("/tools?name=everything__trigger-sampling-request", {
      viewport: { width: 1000, height: 400 },
    });
    const link = page.locator(".offer[aria-current]");
    await link.waitFor();
    const box = await link.boundingBox();
    expect(box?.y).toBeLessThan(380);
  });

  test("ends a call that waits for the person if the tab is closed", async () => {
    const { page } = await open("/tools?name=try__ask");
    await run(page);
    await page.getByRole("dialog").waitFor();
    const before = tryServer.responses.length;
    await page.goto("about:blank");
    await expect.poll(() => tryServer.responses.slice(before), { timeout: 20_000 }).toEqual(['{"action":"cancel"}']);
  });

  test("validates arguments even if the code for it loads slowly", async () => {
    const { page, problems } = await open("/tools?name=try__add");
    await page.clock.install();
    let load = (): void => {};
    const asked = new Promise<void>((resolve) => {
      void page.route(/validation-worker/, async (route) => {
        resolve();
        await new Promise<void>((loaded) => {
          load = loaded;
        });
        await route.continue();
      });
    });
    await page.getByLabel("a *").fill("2");
    await page.getByLabel("b *").fill("-3");
    await run(page);
    await asked;
    await page.clock.fastForward(5000);
    load();
    await page.getByText("-3 is less than 0").waitFor();
    expect(await result(page).count()).toBe(0);
    expect(wrong(problems)).toEqual([]);
  });

  test("edits arguments as JSON, keeps what was typed, and runs again from the history", async () => {
    const { page, problems } = await open("/tools?name=try__add");
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByLabel("Arguments").fill("{oops");
    await run(page);
    await page.getByText("Not valid JSON").waitFor();
    await page.getByLabel("Arguments").fill('{"a": 1, "b": 1, "c": 1}');
    await page.getByRole("tab", { name: "Form" }).click();
    await page.getByText("The form has no fields for this value.").waitFor();
    await page.getByLabel("Arguments").fill('{"a": 20, "b": 22}');
    await page.getByRole("tab", { name: "Form" }).click();
    await expect.poll(() => page.getByLabel("b *").inputValue()).toBe("22");
    await page.getByRole("tab", { name: /^Prompts/ }).click();
    await page.getByRole("link", { name: /^greet/ }).waitFor();
    await page.goBack();
    await expect.poll(() => page.getByLabel("b *").inputValue()).toBe("22");
    await run(page);
    await result(page).getByText("done").waitFor();
    await page.getByRole("tab", { name: /My runs/ }).click();
    await page.getByRole("button", { name: "Run again" }).first().click();
    await expect.poll(() => page.getByText("done").count()).toBe(3);
    await snap(page, "runs");
    expect(await page.locator(".result pre").first().textContent()).toBe("42");
    expect(wrong(problems)).toEqual([]);
  });

  test("shows images, audio, links, resources and data of a result", async () => {
    const { page, problems } = await open("/tools?name=try__media");
    await run(page);
    const image = result(page).getByRole("img");
    await expect.poll(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(1);
    const audio = result(page).locator("audio");
    await expect.poll(() => audio.evaluate((element: HTMLAudioElement) => element.readyState)).toBeGreaterThan(0);
    await result(page).getByText("embedded text").waitFor();
    const saved = page.waitForEvent("download");
    await result(page).getByRole("button", { name: "Save" }).click();
    expect((await saved).suggestedFilename()).toBe("result.bin");
    await snap(page, "media");
    await result(page).getByRole("link", { name: "The counter" }).click();
    await page.getByRole("button", { name: "Read" }).waitFor();
    expect(wrong(problems)).toEqual([]);
  });

  test("hostile text of a tool is shown as text, bounded, and does nothing [TS-D-PAGE-8]", async () => {
    const { page, problems } = await open("/tools?name=hostile__say");
    await run(page);
    await result(page).getByText("the tool reported an error").waitFor();
    const text = await result(page).locator("pre").first().textContent();
    expect(text).toContain("<script>document.title='owned'</script>\\u001b[2J\\u202eevil\\u0000");
    expect(text?.length).toBeLessThan(110_000);
    await result(page).getByText("Invalid base64").waitFor();
    await snap(page, "hostile");
    await result(page).getByRole("link", { name: "<b>link</b>" }).click();
    await page.getByRole("button", { name: "Read" }).waitFor();
    expect(await page.title()).not.toContain("owned");
    expect(await page.locator("[onerror], [onload], body script, i, b, u").count()).toBe(0);
    expect(wrong(problems)).toEqual([]);
  });

  test("a hostile schema has a form, and cannot block the page [TS-D-PAGE-8]", async () => {
    const { page, problems } = await open("/tools?name=hostile__trap");
    await page.getByLabel("slow").fill(`${"a".repeat(60)}!`);
    await run(page);
    // The page responds while the pattern is evaluated.
    await page.getByLabel("self").fill("1");
    await page.getByText("could not be evaluated here").waitFor();
    await result(page).getByText("the tool reported an error").waitFor();
    await snap(page, "hostile-schema");
    expect(wrong(problems)).toEqual([]);
  });

  test("shows progress and log messages, and cancels the call on the server", async () => {
    const { page, problems } = await open("/tools?name=try__wait");
    await run(page);
    await page.getByText("one of four").waitFor();
    await snap(page, "progress");
    expect(await page.getByRole("progressbar").getAttribute("max")).toBe("4");
    await page.getByRole("button", { name: "Cancel" }).click();
    await result(page).getByText("cancelled").waitFor();
    await expect.poll(() => tryServer.cancelled()).toBe(1);
    await page.getByText("Log messages (1)").waitFor();
    expect(wrong(problems)).toEqual([]);
  });

  test("asks the person for the input that a server requests, in a form that validates [TS-D-PAGE-9]", async () => {
    const { page, problems } = await open("/tools?name=try__ask");
    await run(page);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Who are you?").waitFor();
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByText("Required.").waitFor();
    // Closing the dialog is not a response: the run offers it again.
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Respond" }).click();
    await dialog.getByLabel(/Your name/).fill("Ada");
    await dialog.getByLabel(/isMember/).check();
    await snap(page, "elicitation");
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await result(page).getByText("done").waitFor();
    expect(JSON.parse((await result(page).locator("pre").textContent()) ?? "")).toEqual({
      action: "accept",
      content: { name: "Ada", color: "green", isMember: true },
    });
    await run(page);
    await dialog.getByRole("button", { name: "Decline" }).click();
    await expect.poll(() => result(page).locator("pre").textContent()).toContain("decline");
    expect(wrong(problems)).toEqual([]);
  });

  test("a page that a server asks for is shown in full and opened by a click only", async () => {
    const { page, problems } = await open("/tools?name=try__visit");
    await page.context().route("https://pay.example/**", (route) => route.fulfill({ body: "paid" }));
    await run(page);
    await page.getByText("https://pay.example/in?id=1").waitFor();
    expect(page.context().pages()).toHaveLength(1);
    const opened = page.context().waitForEvent("page");
    await page.getByRole("link", { name: "Open pay.example" }).click();
    await (await opened).waitForURL("https://pay.example/in?id=1");
    await result(page).getByText("accept").waitFor();
    expect(wrong(problems)).toEqual([]);
  });

  test("a person reads a sampling request, and responds or declines", async () => {
    const { page, problems } = await open("/tools?name=try__sample");
    await run(page);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("<b>Say hello</b>").waitFor();
    await dialog.getByText("Be brief.").waitFor();
    await dialog.getByLabel("Your response").fill("hello");
    await snap(page, "sampling");
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await expect.poll(() => result(page).locator("pre").textContent()).toContain("hello");
    await run(page);
    await dialog.getByRole("button", { name: "Decline" }).click();
    await result(page).getByText("The user declined the request.").first().waitFor();
    expect(wrong(problems)).toEqual([]);
  });

  test("cancels a run that waits for the person", async () => {
    const { page } = await open("/tools?name=try__ask");
    await run(page);
    await page.getByRole("dialog").getByText("Who are you?").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Cancel" }).click();
    await result(page).getByText("cancelled").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("follows a task until it ends, and cancels it", async () => {
    const { page, problems } = await open("/tools?name=jobs__work");
    await run(page);
    await page.getByText("half done").waitFor();
    await result(page).getByText("task working").waitFor();
    Object.assign(taskServer.task, { status: "completed", result: { content: [{ type: "text", text: "worked" }] } });
    await result(page).getByText("worked").waitFor();
    await run(page);
    await result(page).getByRole("status").getByText("task working").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await expect.poll(() => taskServer.task.status).toBe("cancelled");
    expect(wrong(problems)).toEqual([]);
  });

  test("reads a resource, and again when it changes", async () => {
    const { page, problems } = await open("/resources?uri=counter%3A%2F%2Fnow");
    await page.getByRole("button", { name: "Read" }).click();
    await result(page).getByText("count 0").waitFor();
    await page.getByRole("button", { name: "Subscribe" }).click();
    await page.getByText("Waiting for updates").waitFor();
    // The old content stays until the next is available.
    await page.evaluate(() => {
      const shown = document.querySelector(".run");
      const observe = (): void => {
        if (!/count \d/.test(shown?.textContent ?? "")) document.body.dataset.flickered = "yes";
      };
      if (shown !== null)
        new MutationObserver(observe).observe(shown, { childList: true, subtree: true, characterData: true });
    });
    await expect
      .poll(async () => {
        await tryServer.count();
        return page.getByText(/^Updated/).count();
      })
      .toBe(1);
    await result(page)
      .getByText(/count [1-9]/)
      .waitFor();
    expect(
      await page.evaluate(() => [document.querySelectorAll(".run").length, document.body.dataset.flickered]),
    ).toEqual([1, undefined]);
    await snap(page, "resource");
    expect(wrong(problems)).toEqual([]);
  });

  test("reads a resource by the variables of a template", async () => {
    const { page, problems } = await open("/resources");
    await page.getByRole("searchbox", { name: "Search resources" }).fill("dynamic text");
    await page
      .getByRole("link", { name: /Dynamic Text/i })
      .first()
      .click();
    await page.getByLabel("resourceId").fill("7");
    await page.getByRole("button", { name: "Read" }).click();
    await result(page).getByText("done").waitFor();
    expect(await result(page).textContent()).toContain("7");
    expect(wrong(problems)).toEqual([]);
  });

  test("completes the arguments of a prompt and shows its messages", async () => {
    const { page, problems } = await open("/prompts?name=try__greet");
    await page.getByRole("button", { name: "Get" }).click();
    await page.getByText("Required.").waitFor();
    await page.getByLabel("name *").fill("A");
    await expect.poll(() => page.locator("datalist option").count()).toBe(2);
    await page.getByLabel("name *").fill("Ada");
    await page.getByRole("button", { name: "Get" }).click();
    await result(page).getByText("Hello Ada!").waitFor();
    await snap(page, "prompt");
    expect(wrong(problems)).toEqual([]);
  });

  test("an app runs in a frame of its own, and calls tools of its server only if the person allows it [TS-D-PAGE-9]", async () => {
    const { page, problems } = await open("/tools?name=try__chart");
    // An app chooses when its request appears: a click that was meant for the app must not allow it.
    await page.evaluate(() => {
      new MutationObserver((_, observer) => {
        const buttons = [...document.querySelectorAll<HTMLButtonElement>(".app-request button")];
        if (buttons.length === 0) return;
        observer.disconnect();
        const locked = buttons.filter(({ disabled }) => disabled).map(({ textContent }) => textContent?.trim());
        document.documentElement.dataset.locked = JSON.stringify(locked);
      }).observe(document.body, { childList: true, subtree: true });
    });
    await run(page);
    const app = page.frameLocator("iframe");
    const state = app.locator("#state");
    await page.getByText("The app wants to").waitFor();
    await snap(page, "app-request");
    expect(await page.evaluate(() => document.documentElement.dataset.locked)).toBe(
      '["Allow","Allow all calls of this app"]',
    );
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await expect.poll(() => state.textContent()).toContain("sum: 5");
    const text = await state.textContent();
    expect(text).toContain("chart data, escaped: no, other: The server of this app has no such tool.");
    await snap(page, "app");
    expect(wrong(problems)).toEqual([]);
  });

  const audit = async (page: Page): Promise<void> => {
    const { violations } = await new AxeBuilder({ page }).analyze();
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    expect(serious.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  };

  test.each(["light", "dark"] as const)("a form has no serious accessibility problem in %s", async (colorScheme) => {
    const { page, problems } = await open("/tools?name=everything__get-annotated-message", { colorScheme });
    await run(page);
    await page.getByText("Required.").first().waitFor();
    await audit(page);
    await snap(page, `form-${colorScheme}`);
    expect(wrong(problems)).toEqual([]);
  });

  test("the view fits on a phone, without a serious accessibility problem", async () => {
    const { page, problems } = await open("/resources", { viewport: { width: 390, height: 800 } });
    await page.getByRole("link", { name: /counter/ }).click();
    await page.getByRole("button", { name: "Read" }).click();
    await result(page).getByText("done").waitFor();
    await audit(page);
    await snap(page, "phone");
    await page.getByRole("link", { name: "All resources" }).click();
    await page.getByRole("link", { name: /counter/ }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    expect(wrong(problems)).toEqual([]);
  });
});
