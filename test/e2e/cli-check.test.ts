import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { startQuirks } from "@wirescope/quirks";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createUserFolder, type Run, type RunSetting, runCommand, startCommand } from "./command.test.helper.js";
import { type EndedProcess, endOf } from "./running-process.test.helper.js";

let project: string;

beforeEach(() => {
  project = createUserFolder().folder;
  // A plugin.
  mkdirSync(join(project, ".claude-plugin"));
  writeFileSync(join(project, "README.md"), "Set API_TOKEN and ONE_TOKEN. Permissions: read.\n");
});

function check(argv: readonly string[], { env, columns }: RunSetting = {}): Promise<Run> {
  return runCommand(["check", ...argv], { env: { PATH: process.env.PATH, ...env }, columns });
}

/** Writes the configuration of the project and returns the path of the file. */
function configure(value: unknown): string {
  const file = join(project, ".mcp.json");
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return file;
}

const bearer = {
  mcpServers: {
    api: { type: "http", url: "https://api.example.com/mcp", headers: { Authorization: "Bearer ${API_TOKEN}" } },
  },
};

describe("the exit code", () => {
  test("[TS-D-CHECK-1] exits with 0 if there are no problems", async () => {
    const file = configure(bearer);
    const { code, stdout, stderr } = await check([file], { env: { API_TOKEN: "abc-def-ghi" } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`${file}: 1 server, no problems\n`);
  });

  test("[TS-D-CHECK-1] exits with 1 for errors, and for warnings only with --strict", async () => {
    const file = configure(bearer);
    expect((await check([file])).code).toBe(1);
    const env = { API_TOKEN: "changeme" };
    expect(await check([file], { env })).toMatchObject({ code: 0, stdout: expect.stringContaining("1 warning") });
    expect((await check([file, "--strict"], { env })).code).toBe(1);
  });

  test("[TS-D-CHECK-1] exits with 0 for notes, even with --strict", async () => {
    const file = configure({ a: { type: "http", url: "http://localhost:3000/mcp" } });
    expect((await check([file])).code).toBe(0);
    expect(await check([file, "--strict"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("1 note"),
    });
  });

  test.each([["--trust"], ["--ca", "ca.pem"], ["--timeout", "bogus"], ["--debug"], ["--allow-insecure-loopback"]])(
    "refuses %s without --live, because it would have no effect",
    async (...options) => {
      const { code, stdout, stderr } = await check([configure(bearer), ...options]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`${options[0]} requires --live.`);
    },
  );

  test("[TS-SEC-4] exits with 1 for undocumented variables with --strict", async () => {
    const file = configure(bearer);
    const strict = [file, "--file-only", "--strict"];
    expect((await check(strict)).code).toBe(0);
    writeFileSync(join(project, "README.md"), "Permissions: read.\n");
    expect(await check(strict)).toMatchObject({ code: 1, stdout: expect.stringContaining("variable-undocumented") });
    rmSync(join(project, "README.md"));
    expect(await check(strict)).toMatchObject({ code: 1, stdout: expect.stringContaining("readme-missing") });
    expect((await check([file, "--file-only"])).code).toBe(0);
  });

  test("[TS-D-CHECK-1] exits with 2 for invalid usage", async () => {
    for (const argv of [[join(project, "none.json")], [project], ["a", "b"], ["--wibble"]]) {
      const { code, stdout, stderr } = await check(argv);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^wirescope: .*See wirescope check --help\.\n$/);
    }
    configure(bearer);
    expect((await check([project, "--env-file", join(project, "none")])).code).toBe(2);
  });
});

test("[TS-D-FILE-4] reports all problems at once, with position, rule and fix", async () => {
  const file = configure(`{
  "mcpServers": {
    "one": { "type": "http", "url": "http://api.example.com", "headers": { "Authorization": "\${ONE_TOKEN}" } },
    "two": { "command": "node", "url": "https://api.example.com" },
    "three": { "type": "http", "url": "https://api.example.com", "headersHelper": "./helper.sh" }
  }
}`);
  writeFileSync(join(project, "helper.sh"), "");
  chmodSync(join(project, "helper.sh"), 0o644);
  const { stdout } = await check([file], { env: { ONE_TOKEN: "abc\n" } });
  const places = [...stdout.matchAll(/^(.+?):(\d+:\d+) {2}(\w+ {2}[\w-]+)$/gm)].map(
    ([, , at, what]) => `${at} ${what}`,
  );
  expect(places).toEqual([
    "3:37 error  url-insecure",
    "3:93 error  authorization-scheme",
    "3:93 error  variable-white-space",
    "4:14 error  field-conflict",
    "5:83 error  helper-not-executable",
  ]);
  expect(stdout).toContain('→ Write "Bearer ${ONE_TOKEN}"');
});

test("reports the same problems for scripts with --json", async () => {
  const file = configure(bearer);
  const { code, stdout } = await check([file, "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    file,
    counts: { error: 1, warning: 0, note: 0 },
    findings: [
      {
        code: "variable-unset",
        severity: "error",
        rule: expect.any(String),
        message: "API_TOKEN is not set, but headers.Authorization needs it.",
        fix: "Export it, or pass a file with --env-file.",
        file,
        line: 7,
        column: 26,
        path: "mcpServers.api.headers.Authorization",
        server: "api",
      },
    ],
    servers: [{ name: "api", type: "http" }],
    variables: [
      {
        name: "API_TOKEN",
        isRequired: true,
        isSecret: true,
        uses: [{ server: "api", field: "headers.Authorization" }],
      },
    ],
    permissions: [{ server: "api", by: "variables", variables: ["API_TOKEN"] }],
  });
});

test("[TS-D-CHECK-2] exits with 0 for a plugin whose README has no word of permissions, even with --strict", async () => {
  writeFileSync(join(project, "README.md"), "Set API_TOKEN.\n");
  expect(await check([configure(bearer), "--file-only", "--strict"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/note {2}permissions-undocumented/),
  });
});

test("[TS-D-CHECK-3] exits with 0 for an environment file that git tracks, and with 1 if strict", async () => {
  const file = configure(bearer);
  writeFileSync(join(project, ".env"), "API_TOKEN=abc-def\n");
  execFileSync("git", ["init", "--quiet"], { cwd: project });
  execFileSync("git", ["add", ".env"], { cwd: project });
  expect(await check([file, "--file-only"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/warning {2}env-file-tracked/),
  });
  expect((await check([file, "--file-only", "--strict"])).code).toBe(1);
});

test("speaks of a README only for a plugin, which others install", async () => {
  rmSync(join(project, "README.md"));
  const file = configure(bearer);
  expect((await check([file, "--file-only"])).stdout).toContain("README");
  rmSync(join(project, ".claude-plugin"), { recursive: true });
  const own = await check([file, "--file-only", "--strict"]);
  expect(own).toMatchObject({ code: 0, stdout: expect.stringContaining("Required variables:") });
  expect(own.stdout).not.toContain("README");
  expect((await check([file, "--file-only", "--plugin-root", project])).stdout).toContain("README");
  configure({ mcpServers: { s: { command: "node", args: ["${HOST_PLUGIN_ROOT}/server.js"] } } });
  expect((await check([file, "--file-only"])).stdout).toContain("README");
});

test("[TS-SEC-4] prints a table of variables for a README", async () => {
  const { stdout } = await check([configure(bearer), "--file-only"]);
  expect(stdout).toContain(
    [
      "| Variable    | Server | Field                   | Needed   | Kind   |",
      "| ----------- | ------ | ----------------------- | -------- | ------ |",
      "| `API_TOKEN` | api    | `headers.Authorization` | required | secret |",
    ].join("\n"),
  );
});

describe("[TS-OAUTH-10, TS-SEC-8] the permissions that a project needs", () => {
  test("prints a table of permissions for the README, with gaps to fill in without --live", async () => {
    const notes = { type: "http", url: "https://notes.example.com/mcp" };
    const { stdout } = await check([configure({ ...bearer.mcpServers, notes }), "--file-only"]);
    expect(stdout).toContain(
      [
        "| Server | Signs in         | Permissions |",
        "| ------ | ---------------- | ----------- |",
        "| api    | with `API_TOKEN` | …           |",
        "| notes  | by OAuth         | …           |",
        "Replace … by hand. Use --live to ask the servers.",
      ].join("\n"),
    );
  });

  test("[TS-SEC-6] [TS-D-WHY-7] notes a static token for a server that supports OAuth with --live", async () => {
    const quirks = await startQuirks({});
    onTestFinished(() => quirks.close());
    const headers = { Authorization: "Bearer ${API_TOKEN}" };
    const file = configure({ notes: { type: "http", url: quirks.tool.url, headers } });
    const live = [file, "--live", "--trust", "--allow-insecure-loopback", "--vault", "memory"];
    const env = { HOME: project, API_TOKEN: "a-token-of-mine" };
    quirks.authorization.scopesOf = () => [];
    const { code, stdout } = await check(live, { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/\.mcp\.json:\d+:\d+ {2}note {2}oauth-preferred\n/);
    expect(stdout).toContain(`The server supports OAuth with ${quirks.authorization.issuer}.`);
    expect(stdout).toContain(
      "→ Remove Authorization from the headers of the entry, then sign in. Run: wirescope login notes",
    );
    const { findings } = JSON.parse((await check([...live, "--json"], { env })).stdout);
    expect(findings).toContainEqual(
      expect.objectContaining({ code: "oauth-preferred", severity: "note", server: "notes" }),
    );
  });

  test("diagnoses no disabled server with --live", async () => {
    const witness = join(project, "ran");
    const off = { command: "touch", args: [witness], disabled: true };
    const quirks = await startQuirks({});
    onTestFinished(() => quirks.close());
    quirks.authorization.scopesOf = () => [];
    const headers = { Authorization: "Bearer ${API_TOKEN}" };
    const file = configure({ off, notes: { type: "http", url: quirks.tool.url, headers } });
    const live = [file, "--live", "--trust", "--allow-insecure-loopback", "--vault", "memory"];
    const { code } = await check(live, { env: { HOME: project, API_TOKEN: "a-token-of-mine" } });
    expect({ code, hasRun: existsSync(witness) }).toEqual({ code: 0, hasRun: false });
  });

  test("requests the permissions from the servers with --live, and reports those that the README lacks", async () => {
    const quirks = await startQuirks({});
    onTestFinished(() => quirks.close());
    quirks.tool.challengedScope = "notes:read notes:write";
    const file = configure({ notes: { type: "http", url: quirks.tool.url } });
    const live = [file, "--live", "--trust", "--allow-insecure-loopback", "--vault", "memory"];
    const env = { HOME: project };
    const table = [
      "| Server | Signs in | Permissions                 |",
      "| ------ | -------- | --------------------------- |",
      "| notes  | by OAuth | `notes:read`, `notes:write` |",
    ].join("\n");

    writeFileSync(join(project, "README.md"), "The permission `notes:readwrite` and then notes:write.\n");
    const { stdout } = await check(live, { env });
    expect(stdout).toContain(table);
    expect(stdout).toContain('README.md does not mention "notes:read", which the server "notes" requires.');
    const { permissions, findings } = JSON.parse((await check([...live, "--json"], { env })).stdout);
    expect(permissions).toEqual([
      { server: "notes", by: "oauth", variables: [], scopes: ["notes:read", "notes:write"] },
    ]);
    expect(findings).toMatchObject([{ code: "url-loopback" }, { code: "permissions-undocumented", severity: "note" }]);

    writeFileSync(join(project, "README.md"), `# Permissions\n\n${table}\n`);
    expect((await check(live, { env })).stdout).not.toContain("permissions-undocumented");
  });
});

describe("variables", () => {
  test("[TS-STDIO-2, TS-D-SUB-8] reads variables from the named environment files, and gives precedence to the environment", async () => {
    const file = configure(bearer);
    writeFileSync(join(project, ".env"), "API_TOKEN='from file '\n");
    expect((await check([file])).stdout).toContain("variable-unset");
    const named = [file, "--env-file", join(project, ".env")];
    expect((await check(named)).stdout).toContain("variable-white-space");
    expect((await check(named, { env: { API_TOKEN: "abc-def" } })).code).toBe(0);
  });

  test("takes the file with --config too, and names it in advice", async () => {
    const file = configure({
      mcpServers: {
        api: { type: "http", url: "https://api.example/mcp", headers: { Authorization: "Bearer ${input:key}" } },
      },
    });
    const { code, stdout } = await check(["--config", file]);
    expect(code).toBe(1);
    expect(stdout).toContain(`wirescope inputs key --config ${file}`);
    expect((await check([file, "--config", file])).code).toBe(2);
  });

  test("reports a malformed line of an environment file at its position", async () => {
    writeFileSync(join(project, "vars"), "API_TOKEN=abc-def\nwhat is this\n");
    const { code, stdout } = await check([configure(bearer), "--env-file", join(project, "vars")]);
    expect(code).toBe(1);
    expect(stdout).toContain(`${join(project, "vars")}:2:1  error  env-file-syntax`);
  });

  test("[TS-STDIO-3] reports variables in a file that no .gitignore covers", async () => {
    const file = configure(bearer);
    writeFileSync(join(project, ".env"), "API_TOKEN=abc-def\n");
    execFileSync("git", ["init", "--quiet"], { cwd: project });
    const { code, stdout } = await check([file, "--env-file", join(project, ".env"), "--strict"]);
    expect(code).toBe(1);
    expect(stdout).toContain(`${join(project, ".env")}:1:1  warning  env-file-not-ignored`);
  });
});

test("[TS-SEC-2] prints no secret, in any position and for any mistake", async () => {
  const secret = "s3cr3t-Value9/with+signs";
  const token = `ghp_${"t0K3n".repeat(8)}`;
  const file = configure({
    a: { type: "http", url: `http://u:${secret}@a.example.com/?token=${secret}`, headers: { Authorization: secret } },
    b: { command: secret, args: ["--token", secret, "${B_TOKEN}"], env: { PASSWORD: secret, OTHER: "${B_TOKEN" } },
    c: { type: secret, url: secret, headers: { "X-API-Key": "${C_KEY}", "X-Other": `\${C_KEY:-${secret}}` } },
    [token]: { command: "node", args: [token], env: { A: `\${${token}}`, [token]: "${B_TOKEN}" } },
    d: { type: "http", url: "https://${D_TOKEN}.example.com/${D_TOKEN}" },
  });
  const env = { B_TOKEN: `${secret}\n`, C_KEY: ` ${secret}`, D_TOKEN: `${secret}/x` };
  for (const argv of [[file], [file, "--json"]]) {
    const { code, stdout, stderr } = await check(argv, { env });
    expect(code).toBe(1);
    for (const form of [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString("base64"),
      "s3cr3t",
      "t0K3n",
    ]) {
      expect(stdout + stderr).not.toContain(form);
    }
  }
});

test("prints colored text that fits the width of a terminal, and escapes control characters of the file", async () => {
  const file = configure({ "evil\u001b[2J": { type: "http", url: "http://api.example.com", "x\u009b2J": 1 } });
  const { stdout } = await check([file], { columns: 60, env: { TERM: "xterm" } });
  expect(stdout).toContain("\u001b[31merror\u001b[39m");
  expect(stdout).not.toContain("\u001b[2J");
  expect(stdout).not.toContain("\u009b");
  const plain = stripVTControlCharacters(stdout);
  const prose = plain.split("\n").filter((line) => /^ {2}[^|]* /.test(line) && !line.includes("mcpServers"));
  expect(prose.length).toBeGreaterThan(3);
  for (const line of prose) expect(line.length).toBeLessThanOrEqual(60);
  expect((await check([file, "--no-color"], { columns: 60 })).stdout).not.toContain("\u001b[");
});

test("[TS-D-FILE-2] finds the file of the project that the built command is run in", async () => {
  configure(bearer);
  execFileSync("git", ["init", "--quiet"], { cwd: project });
  mkdirSync(join(project, "src"));
  const env = { PATH: process.env.PATH, API_TOKEN: "abc-def" };
  const run = (cwd: string): Promise<EndedProcess> => endOf(startCommand(["check"], { cwd, env }));
  expect(await run(project)).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining(".mcp.json: 1 server"),
  });
  expect(await run(join(project, "src"))).toMatchObject({ code: 0, stderr: "" });
});
