import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createUserFolder, type Run, type RunSetting, runCommand, type UserFolder } from "./command.test.helper.js";
import { type RealServer, everything as reference, startEverything } from "./real-servers.test.helper.js";

const everything = { command: process.execPath, args: [reference, "stdio"] };

/** The same server, already running, for tests that do not depend on the transport. */
let running: { type: "http"; url: string };
let server: RealServer;
let user: UserFolder;

beforeAll(async () => {
  server = await startEverything("streamableHttp");
  running = { type: "http", url: `http://127.0.0.1:${server.port}/mcp` };
});

afterAll(() => server.stop());

beforeEach(() => {
  user = createUserFolder();
});

function run(
  argv: readonly string[],
  { env = {}, columns, reply }: Pick<RunSetting, "env" | "columns"> & { readonly reply?: string } = {},
): Promise<Run> {
  return runCommand([...argv, "--config", user.file, "--allow-insecure-loopback"], {
    env: { PATH: process.env.PATH, HOME: user.home, ...env },
    columns,
    person: reply === undefined ? undefined : async () => reply,
  });
}

describe("tools", () => {
  test("lists the tools of every server, and the reasons of those that fail", async () => {
    user.configure({
      everything,
      gone: { command: "no-such-program" },
      dies: { command: process.execPath, args: ["-e", "console.error('no database here'); process.exit(3)"] },
    });
    const { code, stdout, stderr } = await run(["tools", "--trust"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^SERVER +TOOL +DESCRIPTION\neverything +echo +Echoes back the input string\n/);
    expect(stderr).toContain('The server "gone" cannot be started: no-such-program was not found. PATH searched: ');
    expect(stderr).toMatch(/The server "dies" .*exited with code 3.*no database here/);
  });

  test("fits the list of tools to the terminal", async () => {
    user.configure({ everything: running });
    const { stdout } = await run(["tools", "--trust"], { columns: 60 });
    for (const line of stripVTControlCharacters(stdout).split("\n")) expect(line.length).toBeLessThanOrEqual(60);
  });

  test("shows one tool with its arguments and how to call it", async () => {
    user.configure({ everything: running });
    const { code, stdout } = await run(["tools", "everything", "get-sum", "--trust"]);
    expect(code).toBe(0);
    expect(stdout).toContain("a  number, required");
    expect(stdout).toContain("wirescope call everything get-sum a=1 b=1");
  });

  test("prints schemas of tools and codes of failures with --json", async () => {
    user.configure({ everything: running, gone: { command: "no-such-program" } });
    const { code, stdout } = await run(["tools", "--json", "--trust"]);
    const all = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(all.everything.tools.find(({ name }: { name: string }) => name === "echo").inputSchema.required).toEqual([
      "message",
    ]);
    expect(all.gone.error.code).toBe("CHILD_NOT_RUNNABLE");
  });
});

describe("call", () => {
  beforeEach(() => user.configure({ everything: running }));

  test("accepts arguments that are read by the tool's schema, or JSON", async () => {
    user.configure({ everything });
    expect(await run(["call", "everything", "get-sum", "a=2", "b=3", "--trust"])).toMatchObject({
      code: 0,
      stdout: "The sum of 2 and 3 is 5.\n",
    });
    const { stdout } = await run(["call", "everything", "echo", '{"message": "hello"}', "--json", "--trust"]);
    expect(JSON.parse(stdout).content).toEqual([{ type: "text", text: "Echo: hello" }]);
  });

  test("shows progress on standard error", async () => {
    const { code, stdout, stderr } = await run([
      ...["call", "everything", "trigger-long-running-operation", "duration=0.2", "steps=2", "--trust"],
    ]);
    expect(code).toBe(0);
    expect(stderr).toBe("progress: 1 of 2 50 %\nprogress: 2 of 2 100 %\n");
    expect(stdout).toContain("Long running operation completed.");
  });

  test("saves images, and overwrites nothing", async () => {
    const folder = join(user.folder, "images");
    for (const _ of [1, 2]) await run(["call", "everything", "get-tiny-image", "--save", folder, "--trust"]);
    expect(readdirSync(folder).sort()).toEqual(["get-tiny-image-1.png", "get-tiny-image-2.png"]);
    expect(readFileSync(join(folder, "get-tiny-image-1.png")).subarray(1, 4).toString()).toBe("PNG");
  });

  test("suggests a similar tool name, and names the type of an argument", async () => {
    expect(await run(["call", "everything", "ecko", "--trust"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Unknown tool "ecko". Did you mean echo?'),
    });
    expect(await run(["call", "everything", "get-sum", "a=two", "--trust"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a must be of type number, not "two".'),
    });
    expect(await run(["call", "evrything", "echo", "--trust"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean "everything"?'),
    });
  });

  test("exits with 1 if the tool reports an error", async () => {
    const { code, stdout } = await run(["call", "everything", "get-sum", "a=1", "--trust"]);
    expect(code).toBe(1);
    expect(stdout).toContain("Invalid");
  });
});

test("shows with ping, resources and prompts what the server offers", async () => {
  user.configure({ everything: running });
  expect((await run(["ping", "--trust"])).stdout).toMatch(
    /everything +[\d.]+ ms +[\d.]+ ms +2025-11-25 +mcp-servers\/everything/,
  );
  expect((await run(["resources", "everything", "--trust"])).stdout).toContain(
    "demo://resource/static/document/architecture.md",
  );
  expect(
    (await run(["resources", "everything", "demo://resource/static/document/architecture.md", "--trust"])).stdout,
  ).toContain("# Everything Server");
  expect((await run(["prompts", "everything", "--trust"])).stdout).toMatch(/args-prompt +city \[state\]/);
  expect((await run(["prompts", "everything", "args-prompt", "city=Bern", "--trust"])).stdout).toBe(
    "user:\nWhat's weather in Bern?\n",
  );
});

describe("trust", () => {
  beforeEach(() => user.configure({ everything }));

  test("[TS-D-TRUST-1] requires trust before anything runs, and does not assume it without a prompt", async () => {
    const { code, stdout, stderr } = await run(["tools"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain('Server "everything" is pending approval, so it was not started');
    expect(stderr).toContain(`command   ${JSON.stringify(process.execPath)}`);
  });

  test("[TS-D-TRUST-1] asks for trust once, and again with the difference when the entry changes", async () => {
    expect((await run(["tools"], { reply: "n" })).code).toBe(1);
    expect((await run(["tools"], { reply: "y" })).code).toBe(0);
    expect((await run(["tools"])).stderr).toBe("");
    user.configure({ everything: { ...everything, env: { EXTRA: "1" } } });
    const { code, stderr } = await run(["tools"]);
    expect(code).toBe(1);
    expect(stderr).toContain('Server "everything" has changed since approval:');
    expect(stderr).toContain("EXTRA");
  });

  test("shows, gives and revokes the trust of one server with --json, without a prompt", async () => {
    const trustOf = async (...more: string[]): Promise<unknown> => {
      const { code, stdout } = await run(["trust", "everything", "--json", ...more]);
      return [code, JSON.parse(stdout).everything.state];
    };
    expect(await trustOf()).toEqual([1, "new"]);
    expect(await trustOf("--yes")).toEqual([0, "trusted"]);
    expect(await trustOf()).toEqual([0, "trusted"]);
    expect(await trustOf("--revoke")).toEqual([0, "new"]);
    expect(await trustOf()).toEqual([1, "new"]);
  });

  test("refuses to revoke the approval of an unknown server, unless its entry was removed after the approval", async () => {
    expect(await run(["trust", "everthing", "--revoke"])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining('Unknown server "everthing". Servers: everything.'),
    });
    expect(await run(["trust", "everything", "--revoke"])).toMatchObject({
      code: 0,
      stdout: "everything was not approved.\n",
    });
    await run(["trust", "everything", "--yes"]);
    user.configure({ other: everything });
    const revoke = ["trust", "everything", "--revoke"];
    expect(await run(revoke)).toMatchObject({ code: 0, stdout: "everything is no longer approved.\n" });
    expect(await run(revoke)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Unknown server "everything". Servers: other.'),
    });
  });
});

test("[TS-STDIO-1] [TS-STDIO-2] passes exported variables and those of a named environment file to the process of a server", async () => {
  user.configure({ everything: { ...everything, env: { DB_USER: "${DB_USER}", DB_HOST: "${DB_HOST}" } } });
  const file = join(user.folder, "database.env");
  writeFileSync(file, "export DB_USER=ada\n");
  const { code, stdout } = await run(["call", "everything", "get-env", "--trust", "--env-file", file], {
    env: { DB_HOST: "localhost" },
  });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ DB_USER: "ada", DB_HOST: "localhost" });
});

test("[TS-FIELD-3, TS-D-TRUST-10] approves a URL from a variable for its origin, and requires a new approval when the variable changes", async () => {
  user.configure({ api: { type: "http", url: "${API_URL}/mcp" } });
  const { origin } = new URL(running.url);
  const here = { API_URL: origin };
  const elsewhere = { API_URL: origin.replace("127.0.0.1", "localhost") };
  const asked = await run(["tools", "api"], { env: here });
  expect(asked.code).toBe(1);
  expect(asked.stderr).toContain(`  origin    ${origin}\n`);
  const envFile = join(user.folder, "dev.vars");
  writeFileSync(envFile, `API_URL=${origin}\n`);
  expect((await run(["trust", "api", "--yes", "--env-file", envFile])).code).toBe(0);
  const debugged = await run(["tools", "api", "--debug"], { env: here });
  expect([debugged.code, debugged.stderr]).toEqual([0, expect.stringContaining(`${origin}/mcp`)]);
  expect(debugged.stderr).not.toContain("API_URL");
  const changed = await run(["tools", "api"], { env: elsewhere });
  expect(changed.code).toBe(1);
  expect(changed.stderr).toContain(`  origin\n    - ${origin}\n    + ${elsewhere.API_URL}\n`);
  expect((await run(["trust", "api"], { env: elsewhere })).stdout).toContain(`+ ${elsewhere.API_URL}`);
  writeFileSync(envFile, `API_URL=${elsewhere.API_URL}\n`);
  const { stdout: why } = await run(["why", "api", "--env-file", envFile]);
  expect(why).toContain("has changed since");
  expect(why).toMatch(new RegExp(`wirescope trust api .*--env-file ${envFile}`));
  expect((await run(["tools", "api"], { env: elsewhere, reply: "y" })).code).toBe(0);
  expect((await run(["tools", "api"], { env: here })).code).toBe(0);
  const unset = await run(["tools", "api"], { reply: "y" });
  expect([unset.code, unset.stderr]).toEqual([1, expect.stringContaining("API_URL is not set")]);
});

test("[TS-SUB-2] sets HOST_PLUGIN_ROOT to the folder of the configuration, unless --plugin-root names another", async () => {
  const args = ["${HOST_PLUGIN_ROOT}/server.mjs", "stdio"];
  user.configure({ everything: { command: process.execPath, args } });
  const call = ["call", "everything", "echo", "message=hi", "--trust"];
  const place = (folder: string): void =>
    writeFileSync(join(folder, "server.mjs"), `await import(${JSON.stringify(pathToFileURL(reference))});`);
  place(user.home);
  expect((await run(call)).code).toBe(1);
  expect(await run([...call, "--plugin-root", user.home])).toMatchObject({ code: 0, stdout: "Echo: hi\n" });
  place(user.folder);
  expect(await run(call)).toMatchObject({ code: 0, stdout: "Echo: hi\n" });
});

test("[TS-DIAG-1] logs what happens with --debug, without secrets", async () => {
  user.configure({ everything: { ...everything, env: { API_TOKEN: "${API_TOKEN}" } } });
  const { stderr } = await run(["call", "everything", "echo", "message=hi", "--debug", "--trust"], {
    env: { API_TOKEN: "tok-8361-very-secret" },
  });
  expect(stderr).toContain("auth: environment variable (API_TOKEN)");
  expect(stderr).toMatch(/process \d+ /);
  expect(stderr).toContain("everything: connected");
  expect(stderr).not.toContain("tok-8361");
});
