import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBrowser } from "./browser.test.helper.js";
import { createUserFolder, type Run, type RunSetting, runCommand, startCommand } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, urlPrintedIn } from "./login-world.test.helper.js";
import { type RealServer, startEverything } from "./real-servers.test.helper.js";
import { endOf } from "./running-process.test.helper.js";
import { serveSmallSse, smallServer } from "./small-servers.test.helper.js";

const command = ["--", process.execPath, smallServer];
/** What differs between a sign-in by url and the entry that is added. */
interface Difference {
  readonly policy?: unknown;
  readonly oauth?: unknown;
  readonly options?: readonly string[];
}

let server: RealServer;
let url: string;

beforeAll(async () => {
  server = await startEverything("streamableHttp");
  url = `http://127.0.0.1:${server.port}/mcp`;
});

afterAll(() => server.stop());

/** Runs the command line for a user who has no configuration. */
function run(argv: readonly string[], setting: RunSetting = {}): Promise<Run> {
  const { home } = createUserFolder();
  return runCommand(argv, { ...setting, env: { PATH: process.env.PATH, HOME: home, ...setting.env } });
}

describe("a server that is given by its url", () => {
  test("[TS-D-CLI-2] lists the tools of a server by its url without a configuration file and without a question", async () => {
    const { code, stdout, stderr } = await run([url]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^TOOL +DESCRIPTION\necho +Echoes back the input string\n/);
    expect((await run(["tools", url])).stdout).toBe(stdout);
  });

  test("prints the tools of a server by its url as a table that fits the terminal, or as JSON", async () => {
    const { stdout } = await run([url], { columns: 50 });
    for (const line of stripVTControlCharacters(stdout).split("\n")) expect(line.length).toBeLessThanOrEqual(50);
    const tools = JSON.parse((await run([url, "--json"])).stdout)[url].tools;
    expect(tools).toContainEqual(expect.objectContaining({ name: "get-sum" }));
  });

  test("calls a tool with arguments of the types in its schema", async () => {
    expect(await run(["call", url, "get-sum", "a=2", "b:=40"])).toMatchObject({
      code: 0,
      stdout: "The sum of 2 and 40 is 42.\n",
    });
    const wrong = await run(["call", url, "get-sum", "a=two", "b=40"]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/a .*number/);
    expect((await run(["call", url, "get-sun"])).stderr).toContain("Did you mean get-sum?");
  });

  test("tries HTTP with SSE if the server has no Streamable HTTP", async () => {
    const { code, stdout } = await run(["call", await serveSmallSse(), "get-sum", "a=2", "b=40"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "The sum of 2 and 40 is 42.\n" });
  });

  test("shows how to call a tool by the url of its server", async () => {
    const { stdout } = await run([url, "get-sum", "--header", "X-Team: a b"]);
    expect(stdout).toContain(`\n  wirescope call ${url} get-sum a=1 b=1 --header 'X-Team: a b'\n`);
  });

  test("accepts a url for resources, prompts, ping and why", async () => {
    expect((await run(["resources", url])).stdout).toMatch(/^URI +TYPE +NAME\n/);
    expect((await run(["prompts", url])).stdout).toMatch(/^PROMPT +ARGUMENTS +DESCRIPTION\n/);
    expect((await run(["ping", url])).code).toBe(0);
    expect((await run(["why", url])).stdout).toContain(`${url} works.`);
  });

  test("refuses a url with http unless it is on this machine, with the reason", async () => {
    const { code, stdout, stderr } = await run(["http://tools.example.com/mcp"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/https/);
  });

  test("fails with exit code 1 and names the url if nothing listens there", async () => {
    const gone = "http://127.0.0.1:1/mcp";
    const { code, stderr } = await run([gone]);
    expect(code).toBe(1);
    expect(stderr).toContain(gone);
  });

  test("[TS-D-CLI-2] refuses a url that a policy denies", async () => {
    const { folder } = createUserFolder();
    const policy = join(folder, "policy.json");
    writeFileSync(policy, JSON.stringify({ version: 1, others: "deny" }));
    const { code, stderr } = await run([url], { env: { WIRESCOPE_POLICY: policy } });
    expect(code).toBe(1);
    expect(stderr).toContain("denies every server that it does not allow");
  });

  test.each([
    [["tools", "http://[/mcp"], "is not a valid url"],
    [["https://a.example/mcp", "--", "node"], "Give a url or a command after --, not both."],
    [["https://a.example/mcp", "--endpoint"], "--endpoint has no effect on a server that is given by url"],
    [["https://a.example/mcp", "--config", "a.json"], "--config has no effect on a server that is given by url"],
    [["tools", "name", "--header", "a: b"], "--header requires a url."],
    [["tools", "name", "--oauth-client-id", "a"], "--oauth-client-id requires a url."],
    [
      ["https://a.example/mcp", "--oauth-callback-port", "x"],
      '--oauth-callback-port must be a number from 1 to 65535, not "x".',
    ],
    [["https://a.example/mcp", "--oauth-callback-port", "0"], "--oauth-callback-port must be a number from 1 to 65535"],
    [["https://a.example/mcp", "--env", "A"], "--env requires a command after --."],
    [["https://a.example/mcp", "--header", "no colon"], "--header must be 'name: value'."],
    [["call", "--"], "A command is missing after --."],
    [["call", ...command], "call requires <server|url> <tool>."],
  ])("exits with code 2 for an invalid command line: %j", async (argv, message) => {
    const { code, stdout, stderr } = await run(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });
});

describe("a server that requires a sign-in and is given by its url", () => {
  test("[TS-D-CLI-2] lets the person at the terminal sign in, and is called with the stored tokens after that", async () => {
    const world = await createLoginWorld();
    const { tool, env, authorization } = world;
    const first = await runCommand([tool.url], { env, person: browsingPerson() });
    expect(first.code).toBe(0);
    expect(first.stderr).toContain(`Sign in to ${tool.url} with ${authorization.issuer}`);
    expect(first.stdout).toMatch(/^read +Reads a note\.$/m);
    // A separate process without a terminal.
    const second = startCommand(["call", tool.url, "read"], { env });
    second.process.stdin.end();
    expect(await endOf(second)).toEqual({ code: 0, stdout: "milk, eggs\n", stderr: "" });
    expect(authorization.count("/auth")).toBe(1);
    const out = await runCommand(["logout", tool.url], { env });
    expect(out.stdout).toContain("access token: revoked");
  });

  test("[TS-D-CLI-2] prints the link without a terminal, and continues when the browser has signed in", async () => {
    const { tool, env } = await createLoginWorld();
    const browser = createBrowser();
    const { code, stdout } = await runCommand(["call", tool.url, "read", "--json"], {
      env,
      onStderr(text) {
        if (/^ {2}http/m.test(text)) void browser.signIn(urlPrintedIn(text));
      },
    });
    expect({ code, content: JSON.parse(stdout).content }).toEqual({
      code: 0,
      content: [{ type: "text", text: "milk, eggs" }],
    });
  });

  test("signs in to a url with login, and shows it with auth", async () => {
    const { tool, env } = await createLoginWorld();
    const { code, stdout } = await runCommand(["login", tool.url], { env, person: browsingPerson() });
    expect(code).toBe(0);
    expect(stdout).toContain(`Connected to ${tool.url}: notes 3.1.0`);
    expect((await runCommand(["auth", tool.url], { env })).stdout).toMatch(/^sign-in +signed in$/m);
  });

  test("[TS-D-CLI-8] needs no second sign-in after add with that url", async () => {
    const { tool, env, folder, authorization } = await createLoginWorld();
    await runCommand([tool.url], { env, person: browsingPerson() });
    const config = ["--config", join(folder, "mine.json")];
    const added = await runCommand(["add", "mine", tool.url, ...config], { env });
    expect(added).toMatchObject({ code: 0, stderr: "" });
    expect(added.stdout).toContain(
      `\nThe entry takes over the sign-in of ${tool.url}; the url alone no longer has one.`,
    );
    for (const token of authorization.issued) expect(added.stdout).not.toContain(token);
    const call = await runCommand(["call", "mine", "read", ...config], { env });
    expect(call).toEqual({ code: 0, stdout: "milk, eggs\n", stderr: "" });
    expect(authorization.count("/auth")).toBe(1);
    expect((await runCommand(["auth", tool.url], { env })).stdout).toMatch(/^sign-in +not signed in/m);
  });

  test("[TS-D-CLI-8] finds a sign-in of another profile by the same options, and prints a command that uses it", async () => {
    const { tool, env, folder, authorization } = await createLoginWorld();
    const chosen = ["--profile", "work", "--vault", "file"];
    await runCommand(["login", tool.url, ...chosen], { env, person: browsingPerson() });
    const added = await runCommand(["add", "mine", tool.url, "--config", join(folder, "mine.json"), ...chosen], {
      env,
    });
    expect(added).toMatchObject({ code: 0, stderr: "" });
    expect(added.stdout).toContain(
      `\nThe entry takes over the sign-in of ${tool.url}; the url alone no longer has one.`,
    );
    const [, pasted = ""] = /^List its tools: wirescope (.+)$/m.exec(added.stdout) ?? [];
    const listed = await runCommand(pasted.split(" "), { env });
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("read") });
    expect(authorization.count("/auth")).toBe(1);
  });

  test.each([
    ["a policy denies the entry", { policy: { version: 1, others: "deny" } }],
    ["the user's OAuth file has settings for the name", { oauth: { mine: { prompt: "login" } } }],
    ["the entry names another client", { options: ["--oauth-client-id", "by-hand"] }],
  ])("[TS-D-CLI-8] keeps its sign-in after add if %s", async (_, { policy, oauth, options = [] }: Difference) => {
    const { tool, env, folder, home } = await createLoginWorld();
    await runCommand(["login", tool.url], { env, person: browsingPerson() });
    const more = { WIRESCOPE_POLICY: join(folder, "policy.json") };
    if (policy !== undefined) writeFileSync(more.WIRESCOPE_POLICY, JSON.stringify(policy));
    mkdirSync(join(home, ".config/wirescope"), { recursive: true });
    if (oauth !== undefined)
      writeFileSync(join(home, ".config/wirescope/oauth.json"), JSON.stringify(oauth), { mode: 0o600 });
    const argv = ["add", "mine", tool.url, "--config", join(folder, "mine.json"), ...options];
    const { stdout } = await runCommand(argv, { env: policy === undefined ? env : { ...env, ...more } });
    expect(stdout).toContain("Added mine");
    expect(stdout).not.toContain("The sign-in of");
    expect((await runCommand(["auth", tool.url], { env })).stdout).toMatch(/^sign-in +signed in$/m);
  });

  test("[TS-D-CLI-8] adds an entry and gives the reason if stored sign-ins cannot be read", async () => {
    const { tool, env, folder } = await createLoginWorld();
    await runCommand(["login", tool.url], { env, person: browsingPerson() });
    const argv = ["add", "mine", tool.url, "--config", join(folder, "mine.json")];
    const wrongKey = { ...env, WIRESCOPE_VAULT_KEY: randomBytes(32).toString("base64") };
    const { code, stdout, stderr } = await runCommand(argv, { env: wrongKey });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Added mine") });
    expect(stderr).toMatch(
      /^wirescope: The sign-in of .* is not taken over, because stored sign-ins cannot be read\. .*key/,
    );
  });

  test("sends a header whose variable is replaced, and never prints its value", async () => {
    const world = await createLoginWorld();
    const { tool, env } = world;
    await runCommand(["login", tool.url], { env, person: browsingPerson() });
    const [token = ""] = tool.seen;
    const argv = ["call", tool.url, "read", "--header", "Authorization: Bearer ${NOTES_TOKEN}"];
    expect(await runCommand(argv, { env: { ...env, NOTES_TOKEN: token } })).toMatchObject({ stdout: "milk, eggs\n" });
    const refused = await runCommand(argv, { env: { ...env, NOTES_TOKEN: "not-a-token-0123456789" } });
    expect(refused.code).toBe(1);
    expect(refused.stdout + refused.stderr).not.toContain("not-a-token-0123456789");
  });
});

describe("a server that is given by its command", () => {
  test("[TS-D-CLI-3] starts a server by its command, reports that, and lists its tools", async () => {
    const { code, stdout, stderr } = await run(command);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^TOOL +DESCRIPTION\necho +Echoes back the input string\n/);
    expect(stderr).toBe(`Starting ${process.execPath} ${smallServer}\n`);
  });

  test("calls a tool with the arguments before the dashes", async () => {
    expect(await run(["call", "get-sum", "a=2", "b=40", ...command])).toMatchObject({
      code: 0,
      stdout: "The sum of 2 and 40 is 42.\n",
    });
    const { stdout } = await run(["tools", "get-sum", ...command]);
    expect(stdout).toContain(`\n  wirescope call get-sum a=1 b=1 -- ${process.execPath} ${smallServer}\n`);
  });

  test("[TS-D-CLI-3] gets its own options, and only the variables that are passed to it", async () => {
    const script = "console.error(JSON.stringify([process.argv.slice(2), process.env.MINE, process.env.OTHER]))";
    const argv = ["ping", "--env", "MINE", "--", process.execPath, "-e", script, "first", "--help", "--json"];
    const { code, stderr } = await run(argv, { env: { MINE: "debug", OTHER: "hidden" } });
    expect(code).toBe(1);
    expect(stderr).toContain('[["--help","--json"],"debug",null]');
  });

  test("diagnoses with why a command whose program does not exist", async () => {
    const { code, stdout } = await run(["why", "--", "no-such-program-here"]);
    expect(code).toBe(1);
    expect(stdout).toContain("no-such-program-here");
  });
});
