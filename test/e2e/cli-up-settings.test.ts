import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { createUserFolder, type Run, runCommand } from "./command.test.helper.js";
import { workIn } from "./pasted-command.test.helper.js";
import { type RunningGateway, runGateway } from "./running-command.test.helper.js";
import { smallEntry } from "./small-servers.test.helper.js";

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
  user.configure({ everything: smallEntry });
  workIn(folder);
  writeFileSync(join(folder, "token"), "a-token-that-stays-0123456789\n");
});

const envOf = (): Record<string, string> => ({ HOME: join(folder, "home"), PATH: process.env.PATH ?? "" });
const wirescope = (...argv: string[]): Promise<Run> => runCommand(argv, { env: envOf() });
const up = (...options: string[]): Promise<RunningGateway> => runGateway(options, { env: envOf() });

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
  const gateway = await up("--host", "0.0.0.0", ...tls, ...more, "--allow-host", "localhost");
  const { endpoint, token } = gateway;
  expect(endpoint).toMatch(/^https:\/\/localhost:\d+\/mcp$/);
  // It is in a file, and is not printed.
  expect(token).toBeUndefined();
  const metrics = endpoint.replace("/mcp", "/metrics");
  expect(await get(metrics, {})).toBe(401);
  expect(await get(metrics, { authorization: "Bearer a-token-that-stays-0123456789" })).toBe(200);
  expect(await get(metrics, { authorization: "Bearer a-token-that-stays-0123456789", host: "evil.example" })).toBe(403);

  const tools = await wirescope("tools", "--endpoint", "--json", "--ca", certificate("ca"));
  expect(tools.code, tools.stderr).toBe(0);
  expect(JSON.parse(tools.stdout).everything.tools.map(({ name }: { name: string }) => name)).toEqual(["echo"]);

  configure('{"tools": {"everything": {"alow": []}}}');
  await expect.poll(() => gateway.stderr, pollOptions).toContain(`${settings}:1:27: Unknown list of tools \\"alow\\"`);
  expect(gateway.stderr).toContain("The previous configuration stays in use.");
  configure('{"tools": {"everything": {"deny": ["echo", "nothing"]}}}');
  await expect.poll(() => gateway.stderr, pollOptions).toContain('matches \\"nothing\\" in its tool filter');
  const words = ["get-sum", "a=20", "b=22", "--endpoint", "--ca", certificate("ca")];
  const summed = await wirescope("call", "everything", ...words);
  expect(summed.code, summed.stderr).toBe(0);
  expect(summed.stdout).toContain("42");

  expect(await gateway.stop()).toBe(0);
  const lines = readFileSync(join(folder, "audit"), "utf8").trimEnd().split("\n");
  const calls = lines.map((line) => JSON.parse(line)).filter(({ method }) => method === "tools/call");
  expect(calls.at(-1)).toMatchObject({ server: "everything", name: "get-sum", outcome: "ok" });
  expect(calls.at(-1)).not.toHaveProperty("arguments");
  expect(gateway.stdout + gateway.stderr + lines.join("")).not.toContain("a-token-that-stays");
});

test("does not start on every address without TLS, and names the options that help", async () => {
  const { code, stderr } = await wirescope("up", "--host", "0.0.0.0", "--port", "0", "--token-file", "token");
  expect(code).toBe(2);
  expect(stderr).toContain("--cert <file> --key <file>");
});

test("passes a variable that is set in the environment file to the running gateway, as its advice says", async () => {
  const entry = { ...smallEntry, env: { SOME_NAME: "${SOME_NAME}" } };
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { everything: entry } }));
  const file = join(folder, "secrets.env");
  writeFileSync(file, "");
  const gateway = await up("--json", "--log", "json", "--trust", "--env-file", file);
  const why = await wirescope("why", "everything", "--endpoint");
  expect(why.stdout.replace(/\s+/g, " ")).toContain(
    `Set SOME_NAME=… in ${file}. The gateway reloads the file when it changes.`,
  );
  writeFileSync(file, "SOME_NAME=ada\n");
  await expect.poll(() => gateway.stderr, pollOptions).toContain('"state":"READY"');
  expect(await gateway.stop()).toBe(0);
});

test("names the configuration in the commands of the to-do list if the settings refer to it", async () => {
  const file = join(folder, "servers.json");
  renameSync(join(folder, ".mcp.json"), file);
  writeFileSync(file, JSON.stringify({ mcpServers: { bad: "x", unset: { url: "https://${NOT_SET}/" } } }));
  configure(JSON.stringify({ configurations: [file] }));
  const gateway = await up("--log", "off");
  const printed = [...gateway.stdout.matchAll(/^ +wirescope (check.*)$/gm)].map(([, words = ""]) => words.split(" "));
  expect(printed).toEqual([
    ["check", file],
    ["check", file],
  ]);
  const check = await wirescope(...(printed[0] ?? []));
  expect(check.code, check.stderr).toBe(1);
  expect(await gateway.stop()).toBe(0);
});

test("does not name the configuration in the commands of the to-do list if it is that of the folder", async () => {
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { bad: "x" } }));
  const gateway = await up("--log", "off");
  expect([...gateway.stdout.matchAll(/^ +wirescope (check.*)$/gm)].map(([, words]) => words)).toEqual(["check"]);
  expect(await gateway.stop()).toBe(0);
});
