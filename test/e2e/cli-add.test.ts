import { existsSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createUserFolder, type Run, runCommand, startCommand, type UserFolder } from "./command.test.helper.js";
import { type RealServer, everything as reference, startEverything } from "./real-servers.test.helper.js";
import { endOf } from "./running-process.test.helper.js";

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

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
  const [verb = "", ...rest] = argv;
  return runCommand([verb, "--config", user.file, ...rest], {
    env: { PATH: process.env.PATH, HOME: user.home, ...env },
  });
}

const written = (): Record<string, unknown> => JSON.parse(readFileSync(user.file, "utf8")).mcpServers;

describe("add", () => {
  test("[TS-D-CLI-4] writes a server into a new file and approves it, so that its tools can be called at once", async () => {
    const { code, stdout, stderr } = await run(["add", "everything", url]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Added everything to ${user.file}: ${url}\nIt is approved, because you typed it.\n`);
    expect(written()).toEqual({ everything: { type: "http", url } });
    const call = ["call", "everything", "get-sum", "a=2", "b=40", "--allow-insecure-loopback"];
    expect(await run(call)).toMatchObject({ code: 0, stdout: "The sum of 2 and 40 is 42.\n" });
  });

  test("[TS-D-CLI-4] writes a command with its arguments and variables, and approves it", async () => {
    const argv = ["add", "local", "--env", "MINE", "--env", "LEVEL=2", "--", process.execPath, reference, "stdio"];
    const { code, stdout } = await run(argv, { MINE: "value" });
    expect(code).toBe(0);
    expect(stdout).toContain(`: ${process.execPath} ${reference} stdio\n`);
    const env = { MINE: "${MINE}", LEVEL: "2" };
    expect(written()).toEqual({ local: { command: process.execPath, args: [reference, "stdio"], env } });
    expect(await run(["call", "local", "echo", "message=hi"], { MINE: "value" })).toMatchObject({
      stdout: "Echo: hi\n",
    });
  });

  test.each([
    ["flushes the new file", "Object.getPrototypeOf(await promises.open(process.execPath)).sync = kill;"],
    ["takes the lock", "promises.link = kill; syncBuiltinESMExports();"],
  ])("[TS-D-CLI-9] removes what a run left behind that was killed when it %s", async (_, patch) => {
    const preload = join(user.home, "kill.mjs");
    const kill = 'const kill = () => process.kill(process.pid, "SIGKILL");';
    const imports = 'import { promises } from "node:fs"; import { syncBuiltinESMExports } from "node:module";';
    writeFileSync(preload, `${imports} ${kill} ${patch}`);
    const env = { PATH: process.env.PATH, HOME: user.home, NODE_OPTIONS: `--import=${pathToFileURL(preload)}` };
    const killed = startCommand(["add", "everything", url, "--config", user.file], { env });
    expect(await endOf(killed)).toMatchObject({ code: null });
    const before = readdirSync(user.folder).filter((name) => name !== "home");
    expect(before).toContainEqual(expect.stringMatching(/\.tmp$/));
    // A file of a lock is only removed once it is certain that no process is about to link it.
    for (const name of before) utimesSync(join(user.folder, name), 1, 1);
    expect((await run(["add", "everything", url])).code).toBe(0);
    expect(readdirSync(user.folder).sort()).toEqual([".mcp.json", "home"]);
  });

  test("writes the registered client and the scopes of a sign-in", async () => {
    const more = ["--oauth-client-id", "wirescope-1", "--oauth-scope", "read", "--oauth-callback-port", "3118"];
    expect((await run(["add", "notes", "https://notes.example/mcp", ...more])).code).toBe(0);
    const oauth = { clientId: "wirescope-1", scopes: ["read"], callbackPort: 3118 };
    expect(written()).toEqual({ notes: { type: "http", url: "https://notes.example/mcp", oauth } });
  });

  test("keeps the comments, the order and the indentation of the file", async () => {
    writeFileSync(user.file, '{\n\t// ours\n\t"mcpServers": {\n\t\t"a": { "command": "a" } // first\n\t}\n}\n');
    expect((await run(["add", "b", "https://b.example/mcp", "--type", "sse"])).code).toBe(0);
    expect(readFileSync(user.file, "utf8")).toBe(
      '{\n\t// ours\n\t"mcpServers": {\n\t\t"a": { "command": "a" }, // first\n\t\t"b": {\n\t\t\t"type": "sse",\n\t\t\t"url": "https://b.example/mcp"\n\t\t}\n\t}\n}\n',
    );
  });

  test("creates the file in the current folder if none is found", async () => {
    const added = startCommand(["add", "everything", url], {
      cwd: user.folder,
      env: { PATH: process.env.PATH ?? "", HOME: user.home },
    });
    added.process.stdin.end();
    expect(await endOf(added)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Added everything to .mcp.json"),
    });
    expect(written()).toEqual({ everything: { type: "http", url } });
  });

  test("refuses a name that exists unless it may be replaced", async () => {
    await run(["add", "a", url]);
    const again = await run(["add", "a", "https://other.example/mcp"]);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain(`already has a server "a". Choose another name, or use --replace.`);
    expect((await run(["add", "a", "https://other.example/mcp", "--replace"])).code).toBe(0);
    expect(written()).toEqual({ a: { type: "http", url: "https://other.example/mcp" } });
  });

  test("[TS-D-CLI-4] refuses a secret in a header or a variable, never prints it, and suggests a variable", async () => {
    const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    const header = await run([
      "add",
      "tickets",
      "https://t.example/mcp",
      "--header",
      `Authorization: Bearer ${secret}`,
    ]);
    expect(header.code).toBe(2);
    expect(header.stderr).toContain("--header 'Authorization: Bearer ${TICKETS_TOKEN}'");
    const variable = await run(["add", "tickets", "--env", `API_KEY=${secret}`, "--", "tickets-server"]);
    expect(variable.code).toBe(2);
    expect(variable.stderr).toContain("--env 'NAME=${API_KEY}'");
    expect(header.stdout + header.stderr + variable.stdout + variable.stderr).not.toContain(secret);
    expect(existsSync(user.file)).toBe(false);
    const good = ["add", "tickets", "https://t.example/mcp", "--header", "Authorization: Bearer ${TICKETS_TOKEN}"];
    expect((await run(good)).code).toBe(0);
    expect(written()).toMatchObject({ tickets: { headers: { Authorization: "Bearer ${TICKETS_TOKEN}" } } });
  });

  test("[TS-D-CLI-4] reports that a policy denies the entry, which stays unapproved", async () => {
    const policy = join(user.folder, "policy.json");
    writeFileSync(policy, JSON.stringify({ version: 1, others: "deny" }));
    const { code, stdout } = await run(["add", "a", url], { WIRESCOPE_POLICY: policy });
    expect(code).toBe(1);
    expect(stdout).toContain("denies every server that it does not allow");
    expect((await run(["trust"], { WIRESCOPE_POLICY: policy })).stdout).toMatch(/^a +http +denied/m);
    expect((await run(["trust", "--allow-insecure-loopback"])).stdout).toMatch(/^a +http +new/m);
  });

  test("writes nothing with --dry-run, and says as JSON what it wrote", async () => {
    const dry = await run(["add", "a", url, "--dry-run"]);
    expect(dry.stdout).toContain(`"url": "${url}"`);
    expect(existsSync(user.file)).toBe(false);
    expect(JSON.parse((await run(["add", "a", url, "--json"])).stdout)).toEqual({
      file: user.file,
      name: "a",
      entry: { type: "http", url },
      isWritten: true,
      approval: { state: "trusted", message: "It is approved, because you typed it." },
    });
  });

  test("refuses to write through a symbolic link of the folder", async () => {
    const target = join(user.home, "elsewhere.json");
    writeFileSync(target, "{}\n");
    symlinkSync(target, user.file);
    const { code, stderr } = await run(["add", "a", url]);
    expect(code).toBe(1);
    expect(stderr).toContain("is a symbolic link");
    expect(readFileSync(target, "utf8")).toBe("{}\n");
  });

  test.each([
    [["add", "a"], "add requires <name> <url | -- command …>."],
    [["add", "a", "b"], "add requires a url such as https://…, or a command after --."],
    [["add", "a", "http://tools.example.com/mcp"], "https"],
    [["add", "a", "--type", "sse", "--", "node"], "--type requires a url."],
  ])("exits with code 2 for invalid arguments: %j", async (argv, message) => {
    const { code, stderr } = await run(argv);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(existsSync(user.file)).toBe(false);
  });
});
