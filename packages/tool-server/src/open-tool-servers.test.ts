import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createMemoryVault } from "./auth/vault/memory-vault.js";
import { createConfiguration } from "./config/create-configuration.js";
import { failureOf } from "./failure-of.test.helper.js";
import { type OpenToolServers, type OpenToolServersOptions, openToolServers } from "./open-tool-servers.js";
import { createSecretRegistry } from "./secrets/redactor.js";
import { smallEntry as entry } from "./small-servers.test.helper.js";
import { openStoredInputs } from "./stored-inputs.js";
import { approvals, trustAll } from "./trust/trust.js";

let root: string;
let environment: Record<string, string | undefined>;
const opened: OpenToolServers[] = [];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "open-servers-")));
  environment = {
    ...process.env,
    HOME: root,
    XDG_CONFIG_HOME: join(root, "config"),
    XDG_DATA_HOME: join(root, "data"),
  };
});

afterEach(async () => {
  for (const servers of opened.splice(0)) await servers.close();
  rmSync(root, { recursive: true });
});

function write(mcpServers: object): string {
  const file = join(root, ".mcp.json");
  writeFileSync(file, JSON.stringify({ mcpServers }));
  return file;
}

async function open(source: string | undefined, options: OpenToolServersOptions = {}): Promise<OpenToolServers> {
  const servers = await openToolServers(source, { environment, ...options });
  opened.push(servers);
  return servers;
}

/** Approves a server as `wirescope trust` does. */
async function approve(file: string, name: string): Promise<void> {
  const trust = approvals({ environment });
  const { loadToolServers } = await import("./load-tool-servers.js");
  const { configuration, pluginRoot, variables } = await loadToolServers(file, createSecretRegistry(), { environment });
  const found = configuration.entries.find((each) => each.name === name);
  if (found === undefined) throw new Error(`${name} is not in ${file}.`);
  const decision = await trust.evaluate({ entry: found, configurationPath: file, pluginRoot, variables });
  if (decision.state !== "new" && decision.state !== "changed") throw new Error(decision.state);
  await trust.approve(decision.subject);
}

test("does not run an entry that is not approved, and names the command that approves it", async () => {
  const file = write({ local: entry });
  const servers = await open(file);
  const error = await failureOf(servers.open("local"));
  expect(error.code).toBe("NOT_TRUSTED");
  expect(error.advice).toBe(`Review and approve it: wirescope trust local --config ${file}`);
  expect(await servers.status()).toEqual([{ name: "local", state: "NOT_TRUSTED", reason: error.message }]);
});

test("runs an approved entry until it changes", async () => {
  const file = write({ local: entry });
  await approve(file, "local");
  const servers = await open(file);
  expect(await servers.status()).toEqual([{ name: "local", state: "IDLE" }]);
  const connection = await servers.open("local");
  const { tools } = await connection.listTools();
  expect(tools.map(({ name }) => name)).toContain("add");
  expect(await servers.status()).toEqual([{ name: "local", state: "READY" }]);
  await servers.close();
  expect((await failureOf(connection.listTools())).code).toBe("CONNECTION_CLOSED");

  write({ local: { ...entry, env: { ADDED: "later" } } });
  expect((await failureOf((await open(file)).open("local"))).code).toBe("NOT_TRUSTED");
});

test("finds .mcp.json in a folder, and takes variables from environment files below those of the environment", async () => {
  write({ local: { ...entry, env: { FIRST: "${FIRST}", SECOND: "${SECOND}" } } });
  writeFileSync(join(root, "extra.env"), "FIRST=of the file\nSECOND=of the file\n");
  const options = { trust: trustAll({ environment }), envFiles: [join(root, "extra.env")] };
  const servers = await open(root, { ...options, environment: { ...environment, SECOND: "of the environment" } });
  expect(servers.file).toBe(join(root, ".mcp.json"));
  const { content } = await (await servers.open("local")).callTool({ name: "add" });
  const [values] = content.map((part) => (part.type === "text" ? JSON.parse(part.text).env : {}));
  expect([values.FIRST, values.SECOND]).toEqual(["of the file", "of the environment"]);
});

test("reports an entry with an error as INVALID with the fix, without affecting the others", async () => {
  const file = write({ api: { type: "http", url: "http://api.example.com/mcp" }, odd: "node", local: entry });
  const servers = await open(file, { trust: trustAll({ environment }) });
  expect(servers.names).toEqual(["api", "local", "odd"]);
  const status = await servers.status();
  expect(status.map(({ name, state }) => `${name} ${state}`)).toEqual(["api INVALID", "local IDLE", "odd INVALID"]);
  expect(status[0]?.reason).toContain("https://");
  expect((await failureOf(servers.open("api"))).code).toBe("ENTRY_INVALID");
  expect((await failureOf(servers.open("nobody"))).code).toBe("SERVER_UNKNOWN");
});

test("fails with CONFIGURATION_UNREADABLE and the path for a file that is missing or not JSON", async () => {
  const missing = await failureOf(open(join(root, "missing.json")));
  expect([missing.code, missing.message.includes(join(root, "missing.json"))]).toEqual([
    "CONFIGURATION_UNREADABLE",
    true,
  ]);
  const file = join(root, "broken.json");
  writeFileSync(file, '{"mcpServers": ');
  const broken = await failureOf(open(file));
  expect([broken.code, broken.message.includes(`${file}:1:`)]).toEqual(["CONFIGURATION_UNREADABLE", true]);
});

test("opens no vault if the OAuth settings of the user cannot be used", async () => {
  const file = write({ api: { type: "http", url: "https://api.example.com/mcp" } });
  mkdirSync(join(root, "config", "wirescope"), { recursive: true });
  writeFileSync(join(root, "config", "wirescope", "oauth.json"), "[]");
  const key = randomBytes(32).toString("base64");
  const error = await failureOf(
    open(file, { vault: "file", environment: { ...environment, WIRESCOPE_VAULT_KEY: key } }),
  );
  expect([error.code, error.message.includes("oauth.json")]).toEqual(["CONFIGURATION_UNREADABLE", true]);
  expect(existsSync(join(root, "data"))).toBe(false);
});

test("denies an entry by the policy of the machine even with trustAll", async () => {
  const file = write({ local: entry });
  const policy = join(root, "policy.json");
  writeFileSync(policy, JSON.stringify({ version: 1, deny: [{ command: process.execPath, reason: "no Node here" }] }));
  const strict = { ...environment, WIRESCOPE_POLICY: policy };
  const servers = await open(file, { environment: strict, trust: trustAll({ environment: strict }) });
  const error = await failureOf(servers.open("local"));
  expect(error.code).toBe("NOT_TRUSTED");
  expect(error.message).toContain("no Node here");
});

test("explains why a server cannot be used, without running what is not trusted", async () => {
  const file = write({ local: entry });
  const explanation = await (await open(file)).explain("local");
  expect(JSON.stringify(explanation)).toContain("wirescope trust local");
});

test("needs no file for a configuration that the program created", async () => {
  mkdirSync(join(root, "work"));
  const configuration = createConfiguration({ local: entry });
  const strict = await openToolServers(configuration, { environment });
  opened.push(strict);
  expect((await failureOf(strict.open("local"))).advice).toContain("trustAll()");
  const servers = await openToolServers(configuration, {
    environment,
    root: join(root, "work"),
    trust: trustAll({ environment }),
  });
  opened.push(servers);
  expect((await (await servers.open("local")).listTools()).tools).not.toEqual([]);
});

test("uses the values of inputs that a user entered, and keeps them out of messages", async () => {
  const file = write({ local: { ...entry, env: { FROM_INPUT: "${input:key}" } } });
  const vault = createMemoryVault();
  const options = { configuration: { inputs: [] }, file, variables: {}, vault, secrets: createSecretRegistry() };
  await openStoredInputs(options).put("key", "entered-once");
  const servers = await open(file, { vault, trust: trustAll() });
  const result = await (await servers.open("local")).callTool({ name: "add" });
  expect(JSON.stringify(result)).toContain("entered-once");
  expect(servers.secrets.redact("It is entered-once.")).not.toContain("entered-once");
});
