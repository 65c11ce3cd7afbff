// npm run docs -- screenshots: takes the screenshots of the page in docs/images from the demonstration, in Chromium.
//
// Run it after changing the page, check the screenshots, and commit those that differ visibly.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { root, SetupError } from "./setup.mjs";

const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
const program = join(root, "packages", "cli", "bin", "wirescope.js");
const folder = join(root, "docs", "images");
const maxBytes = 130_000;

/** How many calls to wait for before the first screenshot. */
const callCount = 10;

export async function main() {
  if (!existsSync(executablePath)) {
    throw new SetupError(
      `Cannot take screenshots: ${executablePath} does not exist. Install Chromium (Debian: chromium), or set CHROMIUM_PATH.`,
    );
  }
  const { chromium } = await import("playwright-core");
  const gateway = await startDemonstration();
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({ executablePath, args: isRoot ? ["--no-sandbox"] : [] });
  try {
    await takeAll(browser, gateway);
  } finally {
    await browser.close();
    await gateway.stop();
  }
  return 0;
}

/** Starts the demonstration with a temporary home, on a free port. */
async function startDemonstration() {
  const home = mkdtempSync(join(tmpdir(), "wirescope-screenshots-"));
  const env = { PATH: process.env.PATH ?? "", HOME: home, XDG_RUNTIME_DIR: join(home, "run") };
  mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 });
  const start = (args, stderr) =>
    spawn(process.execPath, [program, ...args], { cwd: home, env, stdio: ["ignore", "pipe", stderr] });
  const child = start(["demo", "--json", "--no-browser", "--log", "off", "--port", "0"], "inherit");
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill();
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), "line").then(([first]) => first),
    ended.then(() => undefined),
  ]);
  if (line === undefined) {
    await stop();
    throw new SetupError("The demonstration ended before it was ready; see its output above.");
  }
  const url = new URL(JSON.parse(line).endpoint).origin;
  return { url, stop, link: async () => (await text(start(["page"], "inherit").stdout)).trim() };
}

async function takeAll(browser, gateway) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 1,
    reducedMotion: "reduce",
    colorScheme: "light",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  await page.goto(await gateway.link());
  await page.waitForURL((current) => current.search === "");

  const open = async (path) => {
    await page.goto(new URL(path, gateway.url).href);
    await page.getByText("live", { exact: true }).waitFor();
  };
  const take = async (name) => {
    const path = join(folder, `${name}.png`);
    // Away from the table and the graph, which highlight what is below the pointer.
    await page.mouse.move(640, 24);
    await page.screenshot({ path, animations: "disabled" });
    const { size } = statSync(path);
    console.log(`docs/images/${name}.png  ${Math.ceil(size / 1000)} kB`);
    if (size > maxBytes) throw new SetupError(`docs/images/${name}.png has ${size} bytes; the limit is ${maxBytes}.`);
  };
  const takeBoth = async (name) => {
    await take(name);
    await page.emulateMedia({ colorScheme: "dark" });
    await take(`${name}-dark`);
    await page.emulateMedia({ colorScheme: "light" });
  };

  await open("/calls");
  const calls = page.getByRole("table", { name: "calls" }).locator("tbody tr");
  await calls.nth(callCount).waitFor({ timeout: 120_000 });
  await calls.filter({ hasText: "forecast" }).filter({ hasText: "ok" }).first().click();
  const call = page.getByRole("complementary", { name: "Call" });
  await call.getByRole("list", { name: "Phases of the call" }).getByText("Server", { exact: true }).waitFor();
  await take("calls");

  await open("/tools?name=weather__forecast");
  await page.getByLabel("city").fill("Lisbon");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("region", { name: "Result" }).getByText("done").waitFor();
  await take("tools");

  await open("/explain/ledger");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("heading", { name: "The token has expired." }).waitFor();
  await take("explain");

  await open("/connections");
  const node = (name) => page.locator("a.node").filter({ hasText: name });
  await node("notes").getByText("transient failure").waitFor();
  await node("weather").getByText("calls/s").waitFor({ timeout: 60_000 });
  await takeBoth("connections");

  // The connection of the demonstration's client, which is always active.
  const sockets = page.locator('a.node[href^="/object/socket/"]').filter({ hasText: "msg/s" });
  await open((await sockets.last().getAttribute("href")) ?? "/connections");
  await page
    .getByRole("region", { name: "Flow control" })
    .or(page.getByRole("region", { name: "TCP" }))
    .first()
    .waitFor();
  await page.getByRole("img", { name: /now:/ }).locator("canvas").first().waitFor({ timeout: 60_000 });
  await take("object");

  await open("/");
  const row = (server) => page.getByRole("table", { name: "servers" }).getByRole("row").filter({ hasText: server });
  for (const server of ["clock", "weather"]) await row(server).getByText(/\d ms/).first().waitFor();
  await row("ledger").getByText("credential refused", { exact: true }).waitFor();
  await takeBoth("overview");
}
