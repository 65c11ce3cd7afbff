import { spawn } from "node:child_process";
import { createRegistry, listenChannelz } from "@wirescope/channelz";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { program, runCommand, startCommand } from "./command.test.helper.js";
import { untilPrinted } from "./running-process.test.helper.js";
import { hasTerminals } from "./terminal.test.helper.js";

const registry = createRegistry();
const api = registry.addChannel({ name: "api", target: "dns:///api" });
const db = registry.addChannel({ name: "db", target: "dns:///db" });

async function serve(): Promise<string> {
  const listener = await listenChannelz(registry);
  onTestFinished(() => listener.close());
  return listener.address;
}

test("watch prints a line for a change, and ends when the channels of the filter have the state", async () => {
  const target = await serve();
  const options = ["--target", target, "--interval", "50ms"];
  const watching = startCommand(["watch", ...options]);
  await expect.poll(() => watching.stderr).toContain("Watching");
  api.setState("CONNECTING");
  await untilPrinted(watching, /channel 1 api {2}IDLE → CONNECTING\n/);
  watching.process.kill("SIGINT");
  expect(await watching.ended).toBe(0);

  const waiting = runCommand(["watch", ...options, "--json", "--filter", "api", "--until", "READY", "--for", "60s"]);
  api.setState("READY");
  expect((await waiting).code).toBe(0);
  const late = await runCommand(["watch", ...options, "--until", "READY", "--for", "2s"]);
  expect(late.code).toBe(1);
  expect(late.stderr).toContain("Not READY: channel 2 db (IDLE).");
});

test("watch reports a target that does not respond, and sees it when it responds again", async () => {
  const port = await freePort();
  const watching = startCommand(["watch", "--target", `127.0.0.1:${port}`, "--interval", "50ms", "--json"]);
  await expect.poll(() => watching.stderr).toContain("127.0.0.1");
  const again = await listenChannelz(registry, { port });
  onTestFinished(() => again.close());
  await untilPrinted(watching, /"kind":"target".*responds again/);
});

test("top prints rates once, as a table or as JSON, and fails if no target responds", async () => {
  const target = await serve();
  const counting = setInterval(() => {
    db.callStarted();
    db.callFailed();
  }, 5);
  onTestFinished(() => clearInterval(counting));
  const table = await runCommand(["top", "--once", "--target", target, "--interval", "200ms"]);
  expect(table.code).toBe(0);
  expect(table.stdout).toMatch(/STATE +ID +NAME +CALLS\/S/);
  expect(table.stdout).toMatch(/db +[\d.]+ +0 +100\.0 %/);
  const json = await runCommand([
    "top",
    "--once",
    "--json",
    "--target",
    target,
    "--interval",
    "200ms",
    "--filter",
    "db",
  ]);
  expect(JSON.parse(json.stdout).rows).toMatchObject([{ name: "db", failureRate: 1 }]);
  const dead = await runCommand(["top", "--once", "--target", "127.0.0.1:1"]);
  expect(dead.code).toBe(1);
  expect(dead.stdout).toContain("127.0.0.1:1");
  // A higher limit does not help a target that does not respond.
  expect(dead.stderr).toContain("ECONNREFUSED");
  expect(dead.stderr).not.toContain("--max-objects");
});

describe.skipIf(!hasTerminals)("in a terminal", () => {
  test("top shows rows, opens an object with its trace, filters, and leaves the terminal as it was", async () => {
    const target = await serve();
    api.trace("the reason of it all");
    const command = `stty rows 24 cols 80; '${process.execPath}' '${program}' top --target ${target} --interval 100ms`;
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      // CI: with this variable, Ink would draw nothing; scripts/bundle.mjs replaces the module that checks it.
      env: { ...process.env, TERM: "xterm", NO_COLOR: "1", CI: "true" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    onTestFinished(() => void child.kill());
    let shown = "";
    child.stdout.on("data", (chunk) => {
      shown += String(chunk);
    });
    const until = (text: RegExp): Promise<void> => expect.poll(() => shown).toMatch(text);
    const type = (keys: string): void => {
      shown = "";
      child.stdin.write(keys);
    };
    await until(/READY +1 +api/);
    type("/api\r");
    await until(/filter: api/);
    type("\r");
    await until(/the reason of it all/);
    type("q");
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code).toBe(0);
    expect(shown).toContain("\u001b[?1049l");
  });
});
