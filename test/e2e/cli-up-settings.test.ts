import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { createUserFolder, startCommand } from "./command.test.helper.js";
import { everything } from "./real-servers.test.helper.js";
import type { RunningProcess } from "./running-process.test.helper.js";

const certificate = (name: string): string => fileURLToPath(new URL(`../certificates/${name}.pem`, import.meta.url));
const ca = readFileSync(certificate("ca"), "utf8");
const pollOptions = { timeout: 60_000, interval: 50 };
let folder: string;
let settings: string;

beforeEach(() => {
  const user = createUserFolder();
  folder = user.folder;
  settings = join(folder, "home/.config/wirescope/gateway.json");
  mkdirSync(join(folder, "home/.config/wirescope"), { recursive: true });
  const entry = { command: process.execPath, args: [everything, "stdio"] };
  user.configure({ everything: entry });
  writeFileSync(join(folder, "token"), "a-token-that-stays-0123456789\n");
});

function wirescope(...argv: string[]): RunningProcess {
  return startCommand(argv, { cwd: folder, env: { HOME: join(folder, "home"), PATH: process.env.PATH } });
}

/** Replaces the settings as an editor does. */
function configure(text: string): void {
  writeFileSync(`${settings}~`, text);
  renameSync(`${settings}~`, settings);
}

function get(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { ca, headers, servername: "localhost" }, (response) => resolve(response.resume().statusCode))
      .once("error", reject)
      .end();
  });
}

test("serves on every address with TLS, a token, the allowed tools, a log and an audit, and applies a changed file", async () => {
  configure(
    '{\n  // the agent only reads\n  "tools": {"everything": {"allow": ["echo", "get-sum"], "deny": ["get-*"]}}\n}\n',
  );
  const tls = ["--cert", certificate("server"), "--key", certificate("server-key")];
  const more = ["--token-file", "token", "--audit-file", "audit", "--log", "json", "--json", "--trust"];
  const up = wirescope("up", "--host", "0.0.0.0", "--port", "0", ...tls, ...more, "--allow-host", "localhost");
  await expect.poll(() => up.stdout, pollOptions).toContain("\n");
  const { endpoint, token } = JSON.parse(up.stdout);
  expect(endpoint).toMatch(/^https:\/\/localhost:\d+\/mcp$/);
  // It is in a file, and is not printed.
  expect(token).toBeUndefined();
  const metrics = endpoint.replace("/mcp", "/metrics");
  expect(await get(metrics, {})).toBe(401);
  expect(await get(metrics, { authorization: "Bearer a-token-that-stays-0123456789" })).toBe(200);
  expect(await get(metrics, { authorization: "Bearer a-token-that-stays-0123456789", host: "evil.example" })).toBe(403);

  const tools = wirescope("tools", "--endpoint", "--json", "--ca", certificate("ca"));
  expect(await tools.ended, tools.stderr).toBe(0);
  expect(JSON.parse(tools.stdout).gateway.tools.map(({ name }: { name: string }) => name)).toEqual([
    "everything__echo",
  ]);

  configure('{"tools": {"everything": {"alow": []}}}');
  await expect.poll(() => up.stderr, pollOptions).toContain(`${settings}:1:27: Unknown list of tools \\"alow\\"`);
  expect(up.stderr).toContain("The previous configuration stays in use.");
  configure('{"tools": {"everything": {"deny": ["echo", "nothing"]}}}');
  await expect.poll(() => up.stderr, pollOptions).toContain('matches \\"nothing\\" in its tool filter');
  const words = ["everything__get-sum", "a=20", "b=22", "--endpoint", "--ca", certificate("ca")];
  const summed = wirescope("call", "gateway", ...words);
  expect(await summed.ended, summed.stderr).toBe(0);
  expect(summed.stdout).toContain("42");

  up.process.kill("SIGTERM");
  expect(await up.ended).toBe(0);
  const lines = readFileSync(join(folder, "audit"), "utf8").trimEnd().split("\n");
  const calls = lines.map((line) => JSON.parse(line)).filter(({ method }) => method === "tools/call");
  expect(calls.at(-1)).toMatchObject({ server: "everything", name: "get-sum", outcome: "ok" });
  expect(calls.at(-1)).not.toHaveProperty("arguments");
  expect(up.stdout + up.stderr + lines.join("")).not.toContain("a-token-that-stays");
});

test("does not start on every address without TLS, and names the options that help", async () => {
  const up = wirescope("up", "--host", "0.0.0.0", "--port", "0", "--token-file", "token");
  expect(await up.ended).toBe(2);
  expect(up.stderr).toContain("--cert <file> --key <file>");
});

test("passes a variable that is set in the environment file to the running gateway, as its advice says", async () => {
  const entry = { command: process.execPath, args: [everything, "stdio"], env: { SOME_NAME: "${SOME_NAME}" } };
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { everything: entry } }));
  const file = join(folder, "secrets.env");
  writeFileSync(file, "");
  const up = wirescope("up", "--port", "0", "--json", "--log", "json", "--trust", "--env-file", file);
  await expect.poll(() => up.stdout, pollOptions).toContain("\n");
  const why = wirescope("why", "everything", "--endpoint");
  await why.ended;
  expect(why.stdout.replace(/\s+/g, " ")).toContain(
    `Set SOME_NAME=… in ${file}. The gateway reloads the file when it changes.`,
  );
  writeFileSync(file, "SOME_NAME=ada\n");
  await expect.poll(() => up.stderr, pollOptions).toContain('"state":"READY"');
  up.process.kill("SIGTERM");
  expect(await up.ended).toBe(0);
});

test("names the configuration in the commands of the to-do list if the settings refer to it", async () => {
  const file = join(folder, "servers.json");
  renameSync(join(folder, ".mcp.json"), file);
  writeFileSync(file, JSON.stringify({ mcpServers: { bad: "x", unset: { url: "https://${NOT_SET}/" } } }));
  configure(JSON.stringify({ configurations: [file] }));
  const up = wirescope("up", "--port", "0", "--log", "off");
  await expect.poll(() => up.stdout, pollOptions).toContain("Press Ctrl-C");
  const printed = [...up.stdout.matchAll(/^ +wirescope (check.*)$/gm)].map(([, words = ""]) => words.split(" "));
  expect(printed).toEqual([
    ["check", file],
    ["check", file],
  ]);
  const check = wirescope(...(printed[0] ?? []));
  expect(await check.ended, check.stderr).toBe(1);
  up.process.kill("SIGTERM");
  expect(await up.ended).toBe(0);
});

test("does not name the configuration in the commands of the to-do list if it is that of the folder", async () => {
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { bad: "x" } }));
  const up = wirescope("up", "--port", "0", "--log", "off");
  await expect.poll(() => up.stdout, pollOptions).toContain("Press Ctrl-C");
  expect([...up.stdout.matchAll(/^ +wirescope (check.*)$/gm)].map(([, words]) => words)).toEqual(["check"]);
  up.process.kill("SIGTERM");
  expect(await up.ended).toBe(0);
});
