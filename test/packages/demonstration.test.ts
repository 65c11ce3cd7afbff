import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isChromiumInstalled, openPage } from "../e2e/chromium.test.helper.js";
import { type GrpcJsResponse, readWithGrpcJs } from "../e2e/grpc-js-channelz.test.helper.js";
import { npmStart, root } from "../e2e/npm-start.test.helper.js";
import { untilPrinted } from "../e2e/running-process.test.helper.js";

const run = promisify(execFile);

/** A folder with the files of a fresh clone of this state. */
async function cloneAfresh(): Promise<{ clone: string; home: string }> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "wirescope-fresh-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [clone, home] = [join(folder, "clone"), join(folder, "home")];
  await mkdir(home);
  const { stdout } = await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const file of stdout.split("\0").filter((name) => name !== "")) {
    await mkdir(dirname(join(clone, file)), { recursive: true });
    // A deleted file that is not committed yet is still listed.
    await cp(join(root, file), join(clone, file)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
  return { clone, home };
}

/** The text of a tool's result. */
async function textOf(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return JSON.stringify(content);
}

describe.skipIf(!isChromiumInstalled)("the demonstration, in a fresh clone", () => {
  test("supports the way from npm start to a call, a sign-in in a browser, one more permission, and a read by grpc-js", async () => {
    const { clone, home } = await cloneAfresh();
    const { stdout: cache } = await run("npm", ["config", "get", "cache"]);
    const env = { HOME: home, XDG_RUNTIME_DIR: "", npm_config_cache: cache.trim(), npm_config_prefer_offline: "true" };
    const started = npmStart(["--port", "0", "--print-token"], { cwd: clone, env });
    const notice = await untilPrinted(started, /Press Ctrl-C to stop\.\n/);
    const [endpoint = ""] = /http:\S+\/mcp/.exec(notice) ?? [];
    const linkTo = async (...server: string[]): Promise<string> => {
      const options = { cwd: clone, env: { ...process.env, ...env } };
      return (await run("npx", ["wirescope", "page", ...server], options)).stdout.trim();
    };
    const [, token = ""] = /Token +(\S+)/.exec(notice) ?? [];
    const [, channelz = ""] = /Channelz +(\S+)/.exec(notice) ?? [];

    const client = new Client({ name: "visitor", version: "1" });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }));
    onTestFinished(() => client.close());
    expect(await textOf(client, "clock__now")).toMatch(/\d{2}:\d{2}/);
    expect(await textOf(client, "weather__forecast", { city: "Bern" })).toContain("Bern");
    const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names()).not.toContain("notes__list");

    // The status and the sign-in work without JavaScript.
    const { page, problems } = await openPage({ javaScriptEnabled: false });
    const allow = async (): Promise<string[]> => {
      const asked = await page.getByRole("listitem").allTextContents();
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByRole("heading", { name: "Signed in to notes" }).waitFor();
      return asked;
    };
    await page.goto(await linkTo());
    await page.waitForURL("**/status/*");
    const status = page.url();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("2 of 4 tool servers connected");
    expect(await page.locator("#ledger").textContent()).toContain("wirescope why ledger");
    await page.getByRole("link", { name: "Sign in" }).click();
    expect(await allow()).toEqual(["notes:read"]);
    await expect.poll(names).toContain("notes__list");
    expect(await textOf(client, "notes__list")).toContain("Buy a kite.");

    // Writing requires more than was granted: the error says so, and has a link to the sign-in.
    const refused = await textOf(client, "notes__add", { text: "Fly it." }).catch((error: Error) => error.message);
    expect(refused).toContain("notes:write");
    await page.goto(await linkTo("notes"));
    await page.getByRole("button", { name: "Allow" }).waitFor();
    expect(await allow()).toEqual(["notes:read", "notes:write"]);
    await expect
      .poll(() => textOf(client, "notes__add", { text: "Fly it." }).catch(String))
      .toContain("There are 2 notes.");
    await page.goto(status);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("3 of 4 tool servers connected");
    await page.locator("#notes summary").click();
    expect(await page.locator("#notes").textContent()).toContain("Signed in");
    expect(problems).toEqual([]);

    await vi.waitFor(
      async () => {
        const { channel } = await readWithGrpcJs(channelz, "getTopChannels", {}, token);
        const states = channel.map(({ ref, data }: GrpcJsResponse) => [ref.name, data.state.state]);
        expect(Object.fromEntries(states)).toMatchObject({
          clock: "READY",
          weather: "READY",
          notes: "READY",
          ledger: "TRANSIENT_FAILURE",
        });
      },
      { timeout: 60_000, interval: 200 },
    );
    started.process.kill("SIGTERM");
    expect(await started.ended).toBe(0);
  }, 300_000);
});
