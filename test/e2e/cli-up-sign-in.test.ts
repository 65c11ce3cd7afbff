import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { createBrowser } from "./browser.test.helper.js";
import { program, startGateway } from "./command.test.helper.js";
import { createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";
import { hasTerminals } from "./terminal.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 50 };
const readNote = { name: "notes__read", arguments: {} };
const note = [{ type: "text", text: "milk, eggs" }];

interface FakeBrowser {
  /** The variables that make it the user's browser. */
  readonly env: Readonly<Record<string, string>>;
  /** The pages that it was started with. */
  opened(): string[];
}

/** A browser that records the URLs that it is started with. */
function createFakeBrowser({ folder, env }: LoginWorld): FakeBrowser {
  const [path, list] = [join(folder, "browser"), join(folder, "opened")];
  writeFileSync(path, `#!/bin/sh\necho "$1" >> '${list}'\n`);
  chmodSync(path, 0o755);
  return {
    env: { ...env, BROWSER: path },
    opened: () => (existsSync(list) ? readFileSync(list, "utf8").trim().split("\n") : []),
  };
}

const newClient = (): Client => new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });

async function connectByPipes(world: LoginWorld, env: FakeBrowser["env"], ...more: string[]): Promise<Client> {
  const client = newClient();
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, "up", "--stdio", "--trust", "--log", "off", ...more, ...world.shared],
      env: { ...env },
      stderr: "ignore",
    }),
  );
  onTestFinished(() => client.close());
  return client;
}

async function connectByHttp(endpoint: string, token: string): Promise<Client> {
  const client = newClient();
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

/** The error of a call. */
async function failureOf(client: Client): Promise<{ readonly message: string; readonly link: string }> {
  const error: unknown = await client.callTool(readNote).catch((failure: unknown) => failure);
  const message = error instanceof Error ? error.message : "It did not fail.";
  return { message, link: /which works once: (\S+)/.exec(message)?.[1] ?? "" };
}

/** The page that a browser gets with another host name. */
async function pageFor(link: string, host: string): Promise<string> {
  const [response] = await once(get(link, { headers: { host } }), "response");
  return text(response);
}

/** Follows the link of an error through the sign-in, as a user does. */
async function follow(link: string): Promise<string> {
  const browser = createBrowser();
  const entrance = await browser.open(link);
  const path = /<a href="([^"]+)">/.exec(entrance.html)?.[1] ?? "";
  return (await browser.signIn(new URL(path, link).href)).html;
}

test("[TS-D-SIGNIN-1] opens the browser of a gateway that a client runs when a tool is called, and the call waits", async () => {
  const world = await createLoginWorld();
  const browser = createFakeBrowser(world);
  const client = await connectByPipes(world, browser.env);
  const call = client.callTool(readNote);
  await expect.poll(browser.opened, pollOptions).toHaveLength(1);
  await createBrowser().signIn(browser.opened()[0] ?? "");
  expect((await call).content).toEqual(note);
  expect(browser.opened()).toHaveLength(1);
});

test("[TS-D-SIGNIN-5] opens no browser with --no-browser, and returns a link that signs in, works once and needs no listening gateway", async () => {
  const world = await createLoginWorld();
  const browser = createFakeBrowser(world);
  const client = await connectByPipes(world, browser.env, "--no-browser");
  const { message, link } = await failureOf(client);
  expect(message).toContain("wirescope login notes");
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?ticket=/);
  await follow(link);
  await expect
    .poll(async () => (await client.callTool(readNote).catch(() => undefined))?.content, pollOptions)
    .toEqual(note);
  expect(await follow(link)).toContain("This link is invalid, expired or already used");
  expect(await pageFor(link, "evil.example")).toContain("This host is not served here.");
  expect(browser.opened()).toEqual([]);
});

test("[TS-D-SIGNIN-5] opens no browser without a terminal, and puts the command and a link into the error and not into the log", async () => {
  const world = await createLoginWorld();
  const browser = createFakeBrowser(world);
  const up = await startGateway(["--port", "0", "--trust", "--log", "json", ...world.shared], { env: browser.env });
  const { message, link } = await failureOf(await connectByHttp(up.endpoint, up.token));
  expect(message).toContain(`wirescope login notes --config ${join(world.folder, ".mcp.json")}`);
  await expect.poll(() => up.stderr, pollOptions).toContain('"kind":"call"');
  expect(up.stderr).not.toContain(new URL(link).searchParams.get("ticket"));
  expect(browser.opened()).toEqual([]);
});

test.skipIf(!hasTerminals)(
  "[TS-D-SIGNIN-1] opens the browser of a gateway at a terminal, also for a client of its endpoint, and never of one for other machines",
  async () => {
    const world = await createLoginWorld();
    const browser = createFakeBrowser(world);
    const atTerminal = async (...more: string[]): Promise<Client> => {
      const argv = ["up", "--port", "0", "--trust", "--json", "--print-token", ...more, ...world.shared];
      const command = [process.execPath, program, ...argv].map((word) => `'${word}'`).join(" ");
      const child = spawn("script", ["-qec", command, "/dev/null"], { env: { ...browser.env, TERM: "xterm" } });
      const ended = new Promise((resolve) => child.once("close", resolve));
      onTestFinished(async () => {
        child.kill();
        await ended;
      });
      let shown = "";
      child.stdout.on("data", (chunk) => (shown += chunk));
      await expect.poll(() => shown, pollOptions).toMatch(/^\{.*\}\r?$/m);
      const { endpoint, token } = JSON.parse(/^\{.*\}/m.exec(shown)?.[0] ?? "");
      return connectByHttp(endpoint, token);
    };
    const shared = await atTerminal("--allow-host", "tools.example.com");
    expect(await failureOf(shared)).toMatchObject({
      link: "",
      message: expect.stringContaining("wirescope login notes"),
    });
    expect(browser.opened()).toEqual([]);

    const client = await atTerminal();
    const call = client.callTool(readNote);
    await expect.poll(browser.opened, pollOptions).toHaveLength(1);
    await createBrowser().signIn(browser.opened()[0] ?? "");
    expect((await call).content).toEqual(note);
  },
);
