import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  createUserFolder,
  type Run,
  type RunSetting,
  runCommand,
  startGateway,
  type UserFolder,
} from "./command.test.helper.js";
import { type RealServer, everything as reference, startEverything } from "./real-servers.test.helper.js";

const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
let server: RealServer;
let url: string;
let user: UserFolder;

beforeAll(async () => {
  server = await startEverything("streamableHttp");
  url = `http://127.0.0.1:${server.port}/mcp`;
});

afterAll(() => server.stop());

beforeEach(() => {
  user = createUserFolder();
});

/** Writes a file of a client below the home of the user. */
function write(path: string, content: object | string): string {
  const file = join(user.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

function run(argv: readonly string[], setting: RunSetting = {}): Promise<Run> {
  const env = { PATH: process.env.PATH, HOME: user.home, ...setting.env };
  return runCommand([...argv, "--config", user.file], { ...setting, env });
}

const written = (): Record<string, unknown> => JSON.parse(readFileSync(user.file, "utf8")).mcpServers;

test("[TS-D-CLI-7] import shows the servers of every client, asks once, writes them, and approves none", async () => {
  write(".cursor/mcp.json", `{ "mcpServers": { "everything": { "type": "http", "url": "${url}" } } } // mine`);
  write(".codeium/windsurf/mcp_config.json", {
    mcpServers: { local: { command: process.execPath, args: [reference] } },
  });
  write(".claude.json", {
    theme: "dark",
    mcpServers: { everything: { type: "http", url: "https://other.example/mcp" } },
  });
  const questions: string[] = [];
  const person = async (question: string): Promise<string> => {
    questions.push(question);
    return "y";
  };
  const { code, stdout, stderr } = await run(["import"], { person, columns: 120 });
  expect({ code, stderr, questions }).toEqual({
    code: 0,
    stderr: "",
    questions: [`Add 2 servers to ${user.file}? [y/N] `],
  });
  const text = stripVTControlCharacters(stdout);
  expect(text).toMatch(/^claude-code +everything +yes +http +https:\/\/other\.example\/mcp/m);
  expect(text).toMatch(/^cursor +everything +another client has a server with this name/m);
  expect(text).toMatch(/^windsurf +local +yes +stdio/m);
  expect(text).toContain("Approve them: wirescope trust --all");
  expect(written()).toEqual({
    everything: { type: "http", url: "https://other.example/mcp" },
    local: { command: process.execPath, args: [reference] },
  });
  expect((await run(["trust"])).stdout).toMatch(/^local +stdio +new/m);
});

test("[TS-D-CLI-7] an imported server works once it is approved, and is not imported twice", async () => {
  write(".cursor/mcp.json", { mcpServers: { everything: { type: "http", url } } });
  user.configure({ other: { command: "other" } });
  expect((await run(["import", "cursor", "--yes"])).code).toBe(0);
  await run(["trust", "everything", "--yes", "--allow-insecure-loopback"]);
  const call = ["call", "everything", "echo", "message=hi", "--allow-insecure-loopback"];
  expect(await run(call)).toMatchObject({ code: 0, stdout: "Echo: hi\n" });
  const again = await run(["import", "cursor", "--yes"]);
  expect(again.stdout).toMatch(/^cursor +everything +already in the configuration/m);
  expect(Object.keys(written())).toEqual(["other", "everything"]);
});

test("[TS-D-CLI-7] import replaces secrets by variables, and leaves out entries for which that is not possible", async () => {
  write(".cursor/mcp.json", {
    mcpServers: {
      tickets: { type: "http", url: "https://t.example/mcp", headers: { Authorization: `Bearer ${secret}` } },
      files: { command: "files", env: { API_KEY: secret } },
      words: { command: "words", args: ["--token", secret] },
    },
  });
  const { code, stdout, stderr } = await run(["import", "--yes"]);
  expect(code).toBe(0);
  expect(written()).toEqual({
    tickets: { type: "http", url: "https://t.example/mcp", headers: { Authorization: "Bearer ${TICKETS_TOKEN}" } },
    files: { command: "files", args: [], env: { API_KEY: "${API_KEY}" } },
  });
  expect(stdout).toContain("TICKETS_TOKEN, API_KEY");
  const remaining = stdout.replace(/\s+/g, " ");
  expect(remaining).toContain(
    `tickets, files also remain in ${join(user.home, ".cursor/mcp.json")}, with secrets in plain text.`,
  );
  expect(remaining).toContain(
    `To use the gateway there, and remove them: wirescope install cursor --config ${user.file}`,
  );
  expect(stdout).toMatch(/^cursor +words +args\[1\] contains a secret/m);
  expect(stdout + stderr + readFileSync(user.file, "utf8")).not.toContain(secret);
});

test("import writes what VS Code, Windsurf and Gemini CLI spell differently in the format of .mcp.json", async () => {
  const input = { id: "key", type: "promptString", description: "The key", password: true };
  write(".config/Code/User/mcp.json", {
    inputs: [input],
    servers: { asked: { command: "asked", cwd: "tools", env: { KEY: "${input:key}", HOME_OF: "${env:USER}" } } },
  });
  write(".codeium/windsurf/mcp_config.json", { mcpServers: { wind: { serverUrl: "https://wind.example/mcp" } } });
  write(".gemini/settings.json", {
    mcpServers: { gem: { httpUrl: "https://gem.example/mcp", headers: { "X-Team": "$TEAM" } } },
  });
  const { code, stdout } = await run(["import", "--yes"]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("Added ") });
  expect(written()).toEqual({
    asked: { command: "asked", args: [], env: { KEY: "${input:key}", HOME_OF: "${USER}" }, cwd: "tools" },
    wind: { type: "http", url: "https://wind.example/mcp" },
    gem: { type: "http", url: "https://gem.example/mcp", headers: { "X-Team": "${TEAM}" } },
  });
  expect(JSON.parse(readFileSync(user.file, "utf8")).inputs).toEqual([input]);
});

test("[TS-D-CLI-7] import reads the TOML file of Codex, and writes its servers in the format of .mcp.json", async () => {
  const toml = `model = "o3"
[mcp_servers.tickets]
url = "https://tickets.example/mcp"
bearer_token_env_var = "TICKETS_TOKEN"
tool_timeout_sec = 30
[mcp_servers.local]
command = "local"
args = ["--fast"]
enabled = false
`;
  write(".codex/config.toml", toml);
  expect(await run(["import", "codex", "--yes"])).toMatchObject({ code: 0 });
  expect(written()).toEqual({
    tickets: {
      type: "http",
      url: "https://tickets.example/mcp",
      headers: { Authorization: "Bearer ${TICKETS_TOKEN}" },
      timeout: 30_000,
    },
    local: { command: "local", args: ["--fast"], disabled: true },
  });
});

test("[TS-D-CLI-7] import reads the file of opencode, and writes its servers in the format of .mcp.json", async () => {
  const file = write(
    ".config/opencode/opencode.jsonc",
    JSON.stringify({
      $schema: "https://opencode.ai/config.json",
      model: "m",
      mcp: {
        local: { type: "local", command: ["local", "--fast"], environment: { KEY: "{env:LOCAL_KEY}" }, enabled: false },
        remote: {
          type: "remote",
          url: "https://remote.example/mcp",
          oauth: { clientId: "{env:CLIENT}", scope: "read write" },
        },
        token: {
          type: "remote",
          url: "https://token.example/mcp",
          headers: { Authorization: "Bearer {file:~/.token}" },
          oauth: { client_id: "a", client_secret: secret },
        },
        jira: { enabled: true },
      },
    }).replace("{", "{ // mine\n"),
  );
  const { code, stdout } = await run(["import", "opencode", "--yes"]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("Added local, remote to ") });
  expect(stdout).toMatch(/^opencode +token +oauth.client_secret contains a secret/m);
  expect(written()).toEqual({
    local: { command: "local", args: ["--fast"], env: { KEY: "${LOCAL_KEY}" }, disabled: true },
    remote: {
      type: "http",
      url: "https://remote.example/mcp",
      oauth: { clientId: "${CLIENT}", scopes: ["read", "write"] },
    },
  });
  writeFileSync(file, readFileSync(file, "utf8").replace(/,"oauth":\{"client_id.*?\}/, ""));
  expect((await run(["import", "opencode", "--yes"])).code).toBe(0);
  expect(written()).toMatchObject({
    token: { headers: { Authorization: { command: ["cat", "${userHome}/.token"], prefix: "Bearer " } } },
  });
});

test("import keeps the settings of a server that clients share with our format", async () => {
  const gem = { httpUrl: "https://gem.example/mcp", excludeTools: ["delete"], timeout: 5000, description: "Gems" };
  write(".gemini/settings.json", { mcpServers: { gem } });
  write(".cline/data/settings/cline_mcp_settings.json", {
    mcpServers: { line: { command: "line", disabled: true, timeout: 7 } },
  });
  expect((await run(["import", "--yes"])).code).toBe(0);
  expect(written()).toEqual({
    gem: { type: "http", url: "https://gem.example/mcp", timeout: 5000, excludeTools: ["delete"], description: "Gems" },
    line: { command: "line", args: [], timeout: 7000, disabled: true },
  });
});

test("import reads the servers of Roo Code, of Cline in VS Code, and those of one project in Claude Code", async () => {
  const extensions = ".config/Code/User/globalStorage";
  const one = (name: string) => ({ mcpServers: { [name]: { type: "http", url: `https://${name}.example/mcp` } } });
  write(`${extensions}/rooveterinaryinc.roo-cline/settings/mcp_settings.json`, one("roo"));
  write(`${extensions}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`, one("cline"));
  write(".claude.json", { projects: { [process.cwd()]: one("here"), "/elsewhere": one("elsewhere") } });
  expect((await run(["import", "--yes"])).code).toBe(0);
  expect(Object.keys(written()).sort()).toEqual(["cline", "here", "roo"]);
});

test("[TS-D-CLI-7] import --reference lets the gateway read a client's file, except for the gateway itself in it", async () => {
  const file = write(".cursor/mcp.json", {
    mcpServers: {
      everything: { type: "http", url },
      wirescope: { command: "npx", args: ["wirescope", "up", "--stdio"] },
    },
  });
  const settings = join(user.home, ".config/wirescope/gateway.json");
  const env = { PATH: process.env.PATH, HOME: user.home };
  expect((await runCommand(["import", "--reference"], { env })).code).toBe(1);
  expect(existsSync(settings)).toBe(false);
  const { code, stdout } = await runCommand(["import", "--reference", "--yes"], { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("The gateway reads 1 file") });
  expect(JSON.parse(readFileSync(settings, "utf8"))).toEqual({ configurations: [file] });
  expect((await runCommand(["import", "--reference", "--yes"], { env })).stdout).toBe("No file to add.\n");

  writeFileSync(settings, JSON.stringify({ configurations: [file, join(user.home, "gone.json")] }));
  const gateway = await startGateway(["--port", "0", "--trust"], { env, cwd: user.home });
  const notice = JSON.parse(gateway.stdout.split("\n")[0] ?? "");
  // It may connect later than the notice is printed.
  expect(Object.keys(notice.servers)).toEqual(["everything"]);
  await expect.poll(() => gateway.stderr).toContain("gone.json does not exist and is ignored.");
});

test("[TS-D-CLI-7] import writes nothing without confirmation, nor with --dry-run", async () => {
  write(".cursor/mcp.json", { mcpServers: { everything: { type: "http", url } } });
  expect(await run(["import"], { person: async () => "" })).toMatchObject({ code: 1 });
  expect((await run(["import"])).stdout).toMatch(/Nothing was written\. Use --yes to write without a prompt\.\n$/);
  expect((await run(["import", "--dry-run"])).stdout).toContain(`1 server would be added to ${user.file}.`);
  const { isWritten, servers, file } = JSON.parse((await run(["import", "--json"])).stdout);
  expect({ isWritten, file, servers }).toEqual({
    isWritten: false,
    file: user.file,
    servers: [
      expect.objectContaining({ client: "cursor", server: "everything", type: "http", target: url, variables: [] }),
    ],
  });
  expect(existsSync(user.file)).toBe(false);
});

test("import leaves out the gateway itself, and reports a file that cannot be read", async () => {
  const args = ["up", "--stdio", "--config", user.file];
  write(".cursor/mcp.json", { mcpServers: { wirescope: { command: "wirescope", args } } });
  const broken = write(".gemini/settings.json", '{ "mcpServers": { ');
  const { code, stdout } = await run(["import", "--yes"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^cursor +wirescope +starts the gateway itself/m);
  expect(stdout).toContain(`${broken} was not read: `);
  expect(existsSync(user.file)).toBe(false);
});

test("import finds nothing on a machine without clients, and suggests the name of a client", async () => {
  expect(await run(["import"])).toMatchObject({ code: 0, stdout: "No servers found in the files of other clients.\n" });
  const wrong = await run(["import", "cursr"]);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean cursor?") });
});
