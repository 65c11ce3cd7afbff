import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createSecretRegistry } from "@wirescope/tool-server";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { Io } from "../io.js";
import { parseOptions } from "../options.js";
import { openInputValues } from "../tool-server/input-values.js";
import { type ConfigurationReader, createConfigurationReader } from "./configuration-reader.js";
import { createServerCommands } from "./to-do.js";
import { upOptions } from "./up-options.js";

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-projects-")));
});

afterEach(() => rmSync(folder, { recursive: true }));

function readerOf(contents: readonly unknown[], ...args: string[]): ConfigurationReader {
  const files = contents.map((content, index) => {
    const file = join(folder, `${index}.json`);
    writeFileSync(file, JSON.stringify(content));
    return file;
  });
  return readerOfFiles(files, ...args);
}

function readerOfFiles(files: readonly string[], ...args: string[]): ConfigurationReader {
  const nowhere = { write: () => true };
  const io: Io = { stdout: nowhere, stderr: nowhere, env: { HOME: folder }, now: () => new Date() };
  return createConfigurationReader(files, parseOptions(upOptions, args).values, io, {
    secrets: createSecretRegistry(),
    loginCommand: (server) => `wirescope login ${server}`,
  });
}

test("adds invalid entries and files without servers to the to-do list", async () => {
  const reader = readerOf([
    { mcpServers: { good: { command: "node" }, text: "node server.js" } },
    { mcpServers: {} },
    { mcpServers: { other: { command: "node" } } },
  ]);
  await reader.read();
  const commands = createServerCommands({
    program: "wirescope",
    foundFile: undefined,
    isDemo: false,
    fileOf: reader.fileOf,
  });
  const [first, second] = [join(folder, "0.json"), join(folder, "1.json")];
  expect(reader.toDo(commands)).toEqual([
    {
      server: "text",
      problem: expect.stringMatching(/^1:\d+: The entry must be an object, but is a string\. Write /),
      command: `wirescope check ${first}`,
    },
    { server: second, problem: "has no servers", command: `wirescope check ${second}` },
  ]);
  expect(reader.fileOf("other")).toBe(join(folder, "2.json"));
});

test("[TS-SUB-2] uses the folder of each configuration as its plugin root", async () => {
  const roots = ["one", "two"].map((name) => join(folder, name));
  for (const root of roots) {
    mkdirSync(root);
    writeFileSync(join(root, ".mcp.json"), JSON.stringify({ [basename(root)]: { command: "node" } }));
  }
  const configurations = await readerOfFiles(roots.map((root) => join(root, ".mcp.json"))).read();
  expect(configurations.map(({ pluginRoot }) => pluginRoot)).toEqual(roots);
});

test("[TS-D-DIALECT-6] asks for the inputs of approved servers at the first read, and for no others", async () => {
  const file = join(folder, "mcp.json");
  const server = (id: string) => ({ type: "stdio", command: "node", env: { VALUE: `\${input:${id}}` } });
  writeFileSync(file, JSON.stringify({ servers: { known: server("known"), other: server("other") } }));
  const questions: string[] = [];
  const nowhere = { write: () => true };
  const io: Io = {
    stdout: nowhere,
    stderr: nowhere,
    env: { HOME: folder, WIRESCOPE_VAULT_KEY: Buffer.alloc(32, 7).toString("base64") },
    now: () => new Date(),
    async ask(question) {
      questions.push(question);
      return "entered";
    },
  };
  const read = async (isTrusted: boolean) => {
    const options = { secrets: createSecretRegistry(), loginCommand: () => "" };
    const args = ["--vault", "file", ...(isTrusted ? ["--trust"] : [])];
    const reader = createConfigurationReader([file], parseOptions(upOptions, args).values, io, options);
    const [{ variables, oauth } = { variables: {}, oauth: undefined }] = await reader.read();
    await reader.read();
    await oauth?.vault.dispose();
    return variables;
  };
  expect(await read(false)).not.toHaveProperty("input:known");
  expect(questions).toEqual([]);
  expect(await read(true)).toMatchObject({ "input:known": "entered", "input:other": "entered" });
  expect(questions).toEqual(["known (hidden): ", "other (hidden): "]);
  expect(await read(false)).toMatchObject({ "input:known": "entered", "input:other": "entered" });
  expect(questions).toHaveLength(2);
});

/** A reader of one file, with an encrypted vault below `folder`. */
function readerWithVault(servers: object, env: Record<string, string> = {}) {
  const file = join(folder, "mcp.json");
  const write = (changed: object): void => writeFileSync(file, JSON.stringify({ mcpServers: changed }));
  write(servers);
  const nowhere = { write: () => true };
  const key = Buffer.alloc(32, 7).toString("base64");
  const io: Io = {
    stdout: nowhere,
    stderr: nowhere,
    env: { HOME: folder, WIRESCOPE_VAULT_KEY: key, WIRESCOPE_VAULT: "file", ...env },
    now: () => new Date(),
  };
  const options = { secrets: createSecretRegistry(), loginCommand: () => "" };
  const reader = createConfigurationReader([file], parseOptions(upOptions, ["--trust"]).values, io, options);
  return { reader, write, io, file };
}

/** Makes it impossible to open the vault, until the returned function is called. */
function breakVault(): () => void {
  const tokens = join(folder, ".local", "share", "wirescope", "tokens");
  mkdirSync(join(tokens, ".."), { recursive: true });
  writeFileSync(tokens, "not a folder");
  return () => rmSync(tokens);
}

const patient = { timeout: 30_000 };

test("opens a vault that could not be opened at a reload, for the servers that were read before, too", async () => {
  const repair = breakVault();
  const { reader } = readerWithVault({ notes: { type: "http", url: "https://notes.example/mcp" } });
  const [configured] = await reader.read();
  const vault = configured?.oauth?.vault;
  if (vault === undefined) throw new Error("no vault");
  onTestFinished(() => vault.dispose());
  await expect(vault.list()).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
  repair();
  const reload = async (): Promise<string | undefined> => {
    await reader.read();
    return vault.describe().path;
  };
  await expect.poll(reload, patient).toBe(join(folder, ".local", "share", "wirescope", "tokens", "file"));
  expect(await vault.list()).toEqual({ keys: [], unreadable: [] });
});

test("reads the inputs of a server once the vault can be opened, without a reload", async () => {
  const repair = breakVault();
  const { reader, io, file } = readerWithVault({ asking: { command: "node", env: { VALUE: "${input:value}" } } });
  const [configured] = await reader.read();
  const [entry] = configured?.configuration.entries ?? [];
  if (configured?.oauth === undefined || entry === undefined) throw new Error("no server");
  const { configuration, variables, oauth, assertTrusted } = configured;
  const { vault } = oauth;
  onTestFinished(() => vault.dispose());
  await expect(assertTrusted(entry, variables)).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
  repair();
  const secrets = createSecretRegistry();
  const store = () =>
    openInputValues({ configuration, file, variables: {}, vault, secrets, io }).put("value", "entered");
  await expect.poll(() => store().then(() => "stored", String), patient).toBe("stored");
  await assertTrusted(entry, variables);
  expect(variables).toMatchObject({ "input:value": "entered" });
});

test("reads the configuration again after a wrong kind of vault, once no server needs a vault", async () => {
  const { reader, write } = readerWithVault({ local: { command: "node" } }, { WIRESCOPE_VAULT: "cloud" });
  await reader.read();
  write({ notes: { type: "http", url: "https://notes.example/mcp" } });
  await expect(reader.read()).rejects.toThrow("WIRESCOPE_VAULT must be one of");
  write({ local: { command: "node" } });
  expect(await reader.read()).toHaveLength(1);
});

test("adds an ignored line of an environment file to the to-do list", async () => {
  const file = join(folder, "secrets.env");
  writeFileSync(file, "GOOD=1\nA LINE\n");
  const reader = readerOf([{ mcpServers: { good: { command: "node" } } }], "--env-file", file);
  const [configured] = await reader.read();
  expect(configured?.variables.GOOD).toBe("1");
  const commands = createServerCommands({
    program: "wirescope",
    foundFile: undefined,
    isDemo: false,
    fileOf: reader.fileOf,
  });
  expect(reader.toDo(commands)).toEqual([
    {
      server: file,
      problem: expect.stringMatching(/^2:1: The line is not /),
      command: `wirescope check ${join(folder, "0.json")} --env-file ${file}`,
    },
  ]);
});

test("says how to set a variable for a running gateway", async () => {
  const entries = { mcpServers: { good: { command: "node" } } };
  const file = join(folder, "secrets.env");
  writeFileSync(file, "");
  const adviceOf = async (...args: string[]): Promise<(name: string) => string> => {
    const [configured] = await readerOf([entries], ...args).read();
    return configured?.setVariable ?? (() => "");
  };
  expect((await adviceOf())("TOKEN")).toBe(
    "Stop the gateway, export TOKEN, and start it again; or start it with --env-file <file>.",
  );
  expect((await adviceOf("--env-file", file))("TOKEN")).toBe(
    `Set TOKEN=… in ${file}. The gateway reloads the file when it changes.`,
  );
  expect((await adviceOf("--env-file", file))("HOME")).toContain(`overrides ${file}`);
});
