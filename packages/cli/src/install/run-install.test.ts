import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { announceGateway } from "../gateway-file.js";
import { serveProvingGateway } from "../gateway-file.test.helper.js";
import type { Io } from "../io.js";
import { readJsoncMember } from "../jsonc/edit-jsonc.js";
import { parseOptions } from "../options.js";
import { UsageError } from "../usage-error.js";
import type { UserEnvironment } from "./clients.js";
import { installOptions } from "./install-options.js";
import { runInstall } from "./run-install.js";

let folder: string;
let environment: UserEnvironment;
let configuration: string;
let cursor: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-install-")));
  const [home, directory] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(home);
  mkdirSync(directory);
  configuration = join(directory, ".mcp.json");
  writeFileSync(configuration, "{}");
  environment = { env: { HOME: home, PATH: "" }, platform: "linux", home, directory };
  cursor = join(home, ".cursor", "mcp.json");
});

afterEach(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function install(
  argv: readonly string[],
  more: { ask?: Io["ask"]; environment?: Partial<UserEnvironment> } = {},
): Promise<Run> {
  let stdout = "";
  let stderr = "";
  const io: Io = {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    env: { ...environment.env, ...more.environment?.env },
    now: () => new Date(),
    ask: more.ask,
  };
  const { values, positionals } = parseOptions(installOptions, argv);
  const code = await runInstall(positionals[0], values, io, { ...environment, ...more.environment });
  return { code, stdout, stderr };
}

function write(file: string, text: string | Uint8Array): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const read = (file: string): string => readFileSync(file, "utf8");

describe("the entry", () => {
  const gateway = (): string[] => ["up", "--stdio", "--config", configuration];
  const ours = expect.stringMatching(/packages\/cli\/bin\/wirescope\.js$/);
  const typed = (): object => ({ type: "stdio", command: process.execPath, args: [ours, ...gateway()] });
  const plain = (): object => ({ command: process.execPath, args: [ours, ...gateway()] });
  const copilot = (): object => ({ ...plain(), type: "local", tools: ["*"] });
  const local = (): object => ({ type: "local", command: [process.execPath, ours, ...gateway()] });

  test.each([
    ["claude-code", "linux", ".claude.json", "mcpServers", typed],
    ["claude-desktop", "linux", ".config/Claude/claude_desktop_config.json", "mcpServers", plain],
    ["claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json", "mcpServers", plain],
    ["claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json", "mcpServers", plain],
    ["cursor", "linux", ".cursor/mcp.json", "mcpServers", plain],
    ["vscode", "linux", ".config/Code/User/mcp.json", "servers", typed],
    ["vscode", "darwin", "Library/Application Support/Code/User/mcp.json", "servers", typed],
    ["vscode", "win32", "AppData/Roaming/Code/User/mcp.json", "servers", typed],
    ["windsurf", "linux", ".codeium/windsurf/mcp_config.json", "mcpServers", plain],
    ["zed", "linux", ".config/zed/settings.json", "context_servers", plain],
    ["zed", "darwin", ".config/zed/settings.json", "context_servers", plain],
    ["gemini", "linux", ".gemini/settings.json", "mcpServers", plain],
    ["opencode", "linux", ".config/opencode/opencode.json", "mcp", local],
    ["opencode", "darwin", ".config/opencode/opencode.json", "mcp", local],
    ["opencode", "win32", ".config/opencode/opencode.json", "mcp", local],
    ["copilot", "linux", ".copilot/mcp-config.json", "mcpServers", copilot],
    ["amp", "win32", ".config/amp/settings.json", "amp.mcpServers", plain],
    ["cline", "linux", ".cline/data/settings/cline_mcp_settings.json", "mcpServers", plain],
  ] as const)("writes the entry of %s on %s to ~/%s, in %s", async (client, platform, file, key, entry) => {
    const { code } = await install([client, "--yes"], { environment: { platform } });
    expect(code).toBe(0);
    expect(JSON.parse(read(join(environment.home, file)))).toEqual({ [key]: { wirescope: entry() } });
  });

  test.each([
    ["cursor", ".cursor/mcp.json"],
    ["vscode", ".vscode/mcp.json"],
    ["gemini", ".gemini/settings.json"],
    ["opencode", "opencode.json"],
    ["amp", ".amp/settings.json"],
  ])("writes the entry of %s to %s of the project on request", async (client, file) => {
    const { code, stdout } = await install([client, "--scope", "project", "--yes"]);
    expect(code).toBe(0);
    expect(existsSync(join(environment.directory, file))).toBe(true);
    expect(stdout).toContain("paths of this machine");
  });

  test("uses the bare command only if wirescope is on the PATH permanently", async () => {
    for (const [bin, command] of [
      [join(folder, "bin"), "wirescope"],
      [join(folder, "node_modules", ".bin"), process.execPath],
    ] as const) {
      chmodSync(write(join(bin, "wirescope"), "#!/bin/sh\n"), 0o755);
      await install(["cursor", "--yes"], { environment: { env: { ...environment.env, PATH: bin } } });
      expect(JSON.parse(read(cursor)).mcpServers.wirescope.command).toBe(command);
    }
  });

  test("passes on the options of the gateway, with absolute paths", async () => {
    const env = write(join(folder, "a.env"), "");
    await install(["cursor", "--yes", "--env-file", env, "--profile", "work", "--vault", "file", "--name", "mine"]);
    expect(JSON.parse(read(cursor)).mcpServers.mine.args.slice(1)).toEqual([
      ...["up", "--stdio", "--config", configuration, "--env-file", env, "--profile", "work", "--vault", "file"],
    ]);
  });

  test.each([
    [
      "version 2",
      '"servers": {\n      // mine\n      "a": { "type": "local", "command": ["a"] }\n    }',
      ["mcp", "servers"],
    ],
    ["a server called servers", '"servers": { "type": "local", "command": ["a"] } // mine', ["mcp"]],
  ])(
    "writes to the opencode.jsonc that exists, next to its servers, and keeps its comments: %s",
    async (_, servers, keys) => {
      const file = join(environment.home, ".config", "opencode", "opencode.jsonc");
      const text = `{\n  // mine\n  "mcp": {\n    ${servers}\n  }\n}\n`;
      write(file, text);
      expect((await install(["opencode", "--yes"])).code).toBe(0);
      expect(readJsoncMember(read(file), [...keys, "wirescope"])).toEqual(local());
      expect(read(file).match(/\/\/ mine/g)).toEqual(text.match(/\/\/ mine/g));
      expect(readdirSync(dirname(file))).toEqual(["opencode.jsonc"]);
      expect((await install([])).stdout).toMatch(/^opencode +opencode +found +installed \(user\) /m);
      expect((await install(["opencode", "--remove", "--yes"])).code).toBe(0);
      expect(read(file)).toBe(text);
    },
  );

  test("keeps fields that the user added to the entry", async () => {
    write(cursor, '{"mcpServers": {"wirescope": {"url": "http://old", "env": {"A": "b"}, "disabled": true}}}');
    await install(["cursor", "--yes"]);
    const { wirescope } = JSON.parse(read(cursor)).mcpServers;
    expect(wirescope).toEqual({ ...plain(), env: { A: "b" }, disabled: true });
  });
});

describe("the file", () => {
  const text =
    '\ufeff{\r\n\t// s3cret-note\r\n\t"mcpServers": {\r\n\t\t"a": {"env": {"K": "s3cret-value"}}, // s3cret-hint\r\n\t},\r\n}';

  test("changes only the entry of the file, and restores the file when it is removed", async () => {
    write(cursor, text);
    expect((await install(["cursor", "--yes"])).code).toBe(0);
    expect(read(cursor).startsWith(text.slice(0, text.indexOf("\t},\r\n}")))).toBe(true);
    const again = read(cursor);
    expect(await install(["cursor", "--yes"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Nothing to change"),
    });
    expect(read(cursor)).toBe(again);
    expect(await install(["cursor", "--remove", "--yes"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Restart Cursor if it still shows the entry."),
    });
    expect(read(cursor)).toBe(text);
    expect(await install(["cursor", "--remove", "--yes"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("is not in"),
    });
    expect(readdirSync(dirname(cursor))).toEqual(["mcp.json"]);
  });

  test.each(["file", "folder", "missing target"])(
    "neither writes nor removes an entry of a project through a symbolic link (%s)",
    async (kind) => {
      const outside = join(folder, "outside");
      const victim = join(outside, "mcp.json");
      const text = '{"mcpServers": {"wirescope": {"command": "x"}}}';
      mkdirSync(outside);
      if (kind !== "missing target") writeFileSync(victim, text);
      const link = join(environment.directory, ".cursor");
      if (kind === "folder") symlinkSync(outside, link);
      else {
        mkdirSync(link);
        symlinkSync(victim, join(link, "mcp.json"));
      }
      for (const action of [["--yes"], ["--remove", "--yes"]]) {
        const { code, stderr } = await install(["cursor", "--scope", "project", ...action]);
        expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("is a symbolic link to") });
      }
      expect(existsSync(victim) ? read(victim) : "").toBe(kind === "missing target" ? "" : text);
      expect(readdirSync(outside)).toEqual(kind === "missing target" ? [] : ["mcp.json"]);
    },
  );

  test("keeps the mode of the file, and a symbolic link even if its target does not exist yet", async () => {
    const real = write(join(folder, "dotfiles", "mcp.json"), "{}\n");
    chmodSync(real, 0o664);
    mkdirSync(dirname(cursor));
    symlinkSync("../../dotfiles/mcp.json", cursor);
    await install(["cursor", "--yes"]);
    expect(lstatSync(cursor).isSymbolicLink()).toBe(true);
    expect(statSync(real).mode & 0o777).toBe(0o664);
    expect(read(real)).toContain("wirescope");
    rmSync(real);
    await install(["cursor", "--yes"]);
    expect(lstatSync(cursor).isSymbolicLink()).toBe(true);
    expect(read(real)).toContain("wirescope");
  });

  test.each([
    [
      '{\n  "mcpServers": {\n    "a": 1\n    "b": 2\n  }\n}',
      'mcp.json:4:5: Expected a comma, but found ". Separate members and items with commas. Fix the file first.',
    ],
    ['{"mcpServers": "none"}', 'mcp.json:1:16: "mcpServers" must be an object.'],
    [new Uint8Array([0xff, 0xfe, 0x7b, 0x00]), "it is not UTF-8"],
  ])("does not change an invalid file", async (broken, message) => {
    write(cursor, broken);
    const before = readFileSync(cursor);
    const { code, stderr, stdout } = await install(["cursor", "--yes"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
    expect(readFileSync(cursor).equals(before)).toBe(true);
  });

  test("loses no entry if several processes write at once", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const runs = await Promise.all(names.map((name) => install(["cursor", "--yes", "--name", name])));
    expect(runs.map(({ code }) => code)).toEqual(names.map(() => 0));
    expect(Object.keys(JSON.parse(read(cursor)).mcpServers).sort()).toEqual(names);
  });

  test("reads the file again if it changed while the user decided", async () => {
    write(cursor, "{}");
    let asked = 0;
    const ask = async (): Promise<string> => {
      asked += 1;
      if (asked === 1) write(cursor, '{"theirs": 1}');
      return "y";
    };
    const { code, stdout } = await install(["cursor"], { ask });
    expect({ code, asked }).toEqual({ code: 0, asked: 2 });
    expect(stdout).toContain("changed in the meantime");
    expect(JSON.parse(read(cursor))).toMatchObject({ theirs: 1, mcpServers: { wirescope: {} } });
  });

  test("shows the change before it is made, without the secrets of other entries", async () => {
    write(cursor, text);
    const { stdout } = await install(["cursor", "--dry-run"]);
    expect(stdout).toContain('+         "wirescope": {\n');
    expect(stdout).toContain('"a": {"env": {"K": "…"}}, // …\n');
    expect(stdout).toContain(configuration);
    expect(stdout).not.toMatch(/s3cret/);
  });

  test("hides the value of a repeated key in the preview, although a later one replaces it", async () => {
    write(cursor, '{\n  "mcpServers": {\n    "a": {"env": {"K": "s3cret", "K": "0ther"}}\n  }\n}\n');
    const { stdout } = await install(["cursor", "--dry-run"]);
    expect(stdout).toContain('"a": {"env": {"K": "…", "K": "…"}}');
    expect(stdout).not.toMatch(/s3cret|0ther/);
  });
});

test("writes nothing without confirmation", async () => {
  const none = { code: 1, stdout: expect.stringMatching(/^Nothing was written\.$/m) };
  expect(await install(["cursor"], { ask: async () => "n" })).toMatchObject(none);
  expect(await install(["cursor"], { ask: async () => "" })).toMatchObject(none);
  expect(await install(["cursor"])).toMatchObject({ code: 1, stdout: expect.stringContaining("Use --yes") });
  expect((await install(["cursor", "--dry-run"])).code).toBe(0);
  expect(existsSync(dirname(cursor))).toBe(false);
  expect((await install(["cursor"], { ask: async () => " Yes " })).code).toBe(0);
  expect(existsSync(cursor)).toBe(true);
});

test("rejects a configuration that would make the gateway start itself", async () => {
  const before = read(configuration);
  await expect(install(["claude-code", "--scope", "project", "--yes"])).rejects.toThrow("would start itself");
  symlinkSync(configuration, join(environment.home, ".claude.json"));
  await expect(install(["claude-code", "--yes"])).rejects.toThrow(UsageError);
  expect(read(configuration)).toBe(before);
});

test("warns if the client also reads the configuration of the gateway", async () => {
  expect((await install(["claude-code", "--yes"])).stdout).toContain("its servers appear twice");
});

test.each([
  [["cursor", "--config", "/nonexistent/.mcp.json"], "does not exist"],
  [["windsurf", "--scope", "project"], "Use --scope user"],
  [["claude-desktop", "--http"], "Remove --http"],
  [["cursor", "--http"], "No gateway is running"],
  [["cursor", "--name", "a\u001b[31m"], "--name must be a printable name"],
  [["--yes"], "--yes requires the name of a client"],
  [["codex", "--remove"], "--http and --remove work only for"],
])("rejects wrong usage: %j", async (argv, message) => {
  await expect(install(argv)).rejects.toThrow(UsageError);
  await expect(install(argv)).rejects.toThrow(message);
});

const gateway = await serveProvingGateway();
afterAll(() => gateway[Symbol.asyncDispose]());

describe("with --http", () => {
  const token = "gateway-token-of-this-run";
  const { running } = gateway;
  const headers = { Authorization: `Bearer ${token}` };

  test.each([
    ["claude-code", ".claude.json", "mcpServers", { type: "http", url: running.endpoint, headers }],
    ["cursor", ".cursor/mcp.json", "mcpServers", { url: running.endpoint, headers }],
    ["vscode", ".config/Code/User/mcp.json", "servers", { type: "http", url: running.endpoint, headers }],
    ["windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers", { serverUrl: running.endpoint, headers }],
    ["zed", ".config/zed/settings.json", "context_servers", { url: running.endpoint, headers }],
    ["gemini", ".gemini/settings.json", "mcpServers", { httpUrl: running.endpoint, headers }],
    ["opencode", ".config/opencode/opencode.json", "mcp", { type: "remote", url: running.endpoint, headers }],
    [
      "copilot",
      ".copilot/mcp-config.json",
      "mcpServers",
      { type: "http", url: running.endpoint, tools: ["*"], headers },
    ],
    ["amp", ".config/amp/settings.json", "amp.mcpServers", { url: running.endpoint, headers }],
  ])(
    "writes url and token for %s to a file that only its owner can read, and prints no token",
    async (id, file, key, entry) => {
      announceGateway(environment.env, { ...running, token });
      const path = write(join(environment.home, file), "{}");
      chmodSync(path, 0o644);
      for (const form of [[], ["--json"]]) {
        const { code, stdout, stderr } = await install([id, "--http", "--yes", ...form]);
        expect(code).toBe(0);
        expect(stdout + stderr).not.toContain(token);
        expect(JSON.parse(read(path))).toEqual({ [key]: { wirescope: entry } });
        expect(statSync(path).mode & 0o777).toBe(0o600);
        // The second run has nothing to change but the mode.
        chmodSync(path, 0o644);
      }
    },
  );

  test("never writes a token to a project file", async () => {
    announceGateway(environment.env, { ...running, token });
    await expect(install(["cursor", "--http", "--scope", "project", "--yes"])).rejects.toThrow(
      "must not contain a token",
    );
  });

  test("warns that the token changes, unless it comes from a file", async () => {
    const tokenFile = write(join(folder, "token"), `${token}\n`);
    announceGateway(environment.env, { ...running, tokenFile });
    expect((await install(["cursor", "--http", "--yes"])).stdout).not.toContain("The token changes at each start");
    expect(JSON.parse(read(cursor)).mcpServers.wirescope.headers).toEqual(headers);
    announceGateway(environment.env, { ...running, token: "another" });
    expect((await install(["cursor", "--http", "--yes"])).stdout).toContain("The token changes at each start");
  });

  test("removes all fields of the other transport when it switches back", async () => {
    announceGateway(environment.env, { ...running, token });
    await install(["cursor", "--http", "--yes"]);
    await install(["cursor", "--yes"]);
    expect(Object.keys(JSON.parse(read(cursor)).mcpServers.wirescope)).toEqual(["command", "args"]);
  });
});

test("lists which clients are installed and where the entry is", async () => {
  await install(["cursor", "--yes"]);
  await install(["cursor", "--yes", "--scope", "project"]);
  write(join(environment.home, ".gemini", "settings.json"), "{");
  const { code, stdout } = await install([]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^cursor +Cursor +found +installed \(user, project\) +.*\.cursor/m);
  expect(stdout).toMatch(/^gemini +Gemini CLI +found +file is invalid/m);
  expect(stdout).toMatch(/^vscode +VS Code +not found +- /m);
  expect(JSON.parse((await install(["--json"])).stdout)).toMatchObject({
    cursor: { isFound: true, installed: ["user", "project"] },
    zed: { isFound: false, installed: [] },
  });
});

test("prints an entry to add by hand for an unknown client", async () => {
  const { code, stdout, stderr } = await install(["cursr"]);
  expect(code).toBe(2);
  expect(stderr).toContain("Did you mean cursor? Clients: claude-code, claude-desktop, cursor");
  expect(JSON.parse(stdout.slice(stdout.indexOf("{"))).mcpServers.wirescope.args.slice(1, 3)).toEqual([
    "up",
    "--stdio",
  ]);
  expect(await install(["other"])).toMatchObject({ code: 0, stderr: "" });
  const codex = await install(["codex"]);
  expect(codex.stdout).toContain(`[mcp_servers.wirescope]\ncommand = "${process.execPath}"\nargs = ["`);
  expect(codex.stdout).toMatch(/^codex mcp add wirescope -- .* up --stdio --config /m);
});

describe("variables that the servers need", () => {
  const reference = (name: string): string => `\${${name}}`;
  beforeEach(() => {
    const env = {
      A: reference("SET_HERE"),
      B: reference("SET_NOWHERE"),
      C: reference("IN_FILE"),
      D: reference("X:-y"),
    };
    write(configuration, JSON.stringify({ mcpServers: { notes: { command: "node", env } } }));
  });
  const run = (...more: string[]): Promise<Run> =>
    install(["cursor", "--yes", "--env-file", write(join(folder, "a.env"), "IN_FILE=1\n"), ...more], {
      environment: { env: { ...environment.env, SET_HERE: "1" } },
    });

  test("lists variables that no environment file sets, with the servers that need them", async () => {
    const { stdout } = await run();
    expect(stdout).toContain("  SET_HERE (notes): set in this shell only\n  SET_NOWHERE (notes): not set\n");
    expect(stdout).not.toMatch(/IN_FILE| {2}X /);
    // Also if there is nothing to change.
    expect((await run()).stdout).toContain("  SET_NOWHERE (notes): not set\n");
  });

  test("lists the missing variables in JSON", async () => {
    expect(JSON.parse((await run("--json")).stdout).missing).toEqual([
      { name: "SET_HERE", servers: ["notes"], isSetHere: true },
      { name: "SET_NOWHERE", servers: ["notes"], isSetHere: false },
    ]);
  });
});

describe("servers that the client has as well", () => {
  const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  const reference = (name: string): string => `\${${name}}`;
  const mail = { url: "https://mail.example/mcp" };
  const notes = { command: "notes", args: ["--all"] };
  const tickets = (token: string) => ({ url: "https://t.example/mcp", headers: { Authorization: `Bearer ${token}` } });
  const entriesOf = (file: string) => Object.keys(JSON.parse(read(file)).mcpServers);
  let project: string;
  beforeEach(() => {
    const served = { notes, tickets: tickets(reference("TICKETS_TOKEN")), other: mail };
    write(configuration, JSON.stringify({ mcpServers: served }));
    const own = { notes, other: { url: "https://elsewhere.example/mcp" }, tickets: tickets(secret) };
    write(cursor, JSON.stringify({ mcpServers: own }, undefined, 2));
    project = write(
      join(environment.directory, ".cursor", "mcp.json"),
      JSON.stringify({ mcpServers: { notes, mail } }),
    );
  });

  test("names them with their secrets, and removes them if the user agrees", async () => {
    const questions: string[] = [];
    const { code, stdout } = await install(["cursor"], {
      ask: async (question) => {
        questions.push(question);
        return question.includes(project) ? "n" : "y";
      },
    });
    expect({ code, questions }).toEqual({
      code: 0,
      questions: [
        "Write this change? [y/N] ",
        `Remove notes, tickets from ${cursor}? [y/N] `,
        `Remove notes from ${project}? [y/N] `,
      ],
    });
    expect(stdout).toContain(`Cursor also has notes, tickets in ${cursor}, so their tools appear twice.`);
    expect(stdout).toContain("headers.Authorization of tickets (copy it to TICKETS_TOKEN first)");
    expect(stdout).toContain(`Removed notes, tickets from ${cursor}.`);
    expect(stdout).not.toContain(secret);
    expect([entriesOf(cursor), entriesOf(project)]).toEqual([
      ["other", "wirescope"],
      ["notes", "mail"],
    ]);
  });

  test("names the command that removes them if nobody can be asked, also if the entry of the gateway is there already", async () => {
    const command = `install cursor --config ${configuration} --replace`;
    for (const argv of [["--yes"], ["--yes"], ["--json", "--yes"], ["--config", configuration, "--yes"]]) {
      const { stdout, stderr } = await install(["cursor", ...argv]);
      expect(stdout + stderr).toContain(command);
    }
    expect(entriesOf(cursor)).toContain("tickets");
    const dry = await install(["cursor", "--dry-run", "--replace"]);
    expect(dry.stdout).toContain("so their tools appear twice");
    expect(entriesOf(cursor)).toContain("tickets");
    const { stdout } = await install(["cursor", "--replace", "--json"]);
    const expected = { file: cursor, servers: ["notes", "tickets"], isRemoved: true };
    expect(JSON.parse(stdout)).toMatchObject({ change: "none", doubled: [expected, { servers: ["notes"] }] });
    expect([entriesOf(cursor), entriesOf(project)]).toEqual([["other", "wirescope"], ["mail"]]);
    expect((await install(["cursor"])).stdout).not.toContain("appear twice");
  });

  test("asks nothing about them if the entry of the gateway is declined or removed", async () => {
    const declined = await install(["cursor"], { ask: async () => "n" });
    expect(declined).toMatchObject({ code: 1, stdout: expect.not.stringContaining("appear twice") });
    await install(["cursor", "--yes"]);
    expect((await install(["cursor", "--remove", "--yes"])).stdout).not.toContain("appear twice");
  });

  test("removes servers of this folder from the file of Claude Code, and leaves those of other folders", async () => {
    const servers = { mcpServers: { notes } };
    const claude = write(
      join(environment.home, ".claude.json"),
      JSON.stringify({ projects: { [environment.directory]: servers, "/elsewhere": servers } }),
    );
    await install(["claude-code", "--yes", "--replace"]);
    const { projects } = JSON.parse(read(claude));
    expect(projects).toEqual({ [environment.directory]: { mcpServers: {} }, "/elsewhere": servers });
    expect(entriesOf(configuration)).toContain("notes");
  });
});
