import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  createUserFolder,
  type Run,
  type RunSetting,
  runCommand,
  startCommand,
  startGateway,
  type UserFolder,
} from "./command.test.helper.js";
import { browsingPerson, createLoginWorld } from "./login-world.test.helper.js";
import { type RealServer, startEverything } from "./real-servers.test.helper.js";
import { untilPrinted } from "./running-process.test.helper.js";

let server: RealServer;
let everything: { type: "http"; url: string };
let user: UserFolder;

beforeAll(async () => {
  server = await startEverything("streamableHttp");
  everything = { type: "http", url: `http://127.0.0.1:${server.port}/mcp` };
});

afterAll(() => server.stop());

beforeEach(() => {
  user = createUserFolder();
});

const shared = (): string[] => ["--config", user.file, "--allow-insecure-loopback"];

function run(argv: readonly string[], setting: RunSetting = {}): Promise<Run> {
  return runCommand([...argv, ...shared()], { ...setting, env: { PATH: process.env.PATH, HOME: user.home } });
}

test("[TS-D-CLI-6] status connects to the approved servers, shows why others do not work, and asks nothing", async () => {
  user.configure({
    everything,
    gone: { type: "http", url: "http://127.0.0.1:1/mcp" },
    other: { command: "never-started" },
  });
  await run(["trust", "everything", "--yes"]);
  await run(["trust", "gone", "--yes"]);
  const person = async (question: string): Promise<string> => expect.unreachable(question);
  const { code, stdout, stderr } = await run(["status"], { person, columns: 100 });
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  const text = stripVTControlCharacters(stdout);
  expect(text).toMatch(/^SERVER +STATUS +TOOLS +AUTH +SOFTWARE$/m);
  expect(text).toMatch(/^everything +connected +\d+ +none +mcp-servers\/everything/m);
  // Whether it requires a sign-in is not known.
  expect(text).toMatch(/^gone +not reachable +- +- +-$/m);
  expect(text).toMatch(/^other +not approved +- /m);
  expect(text).toMatch(/^ {2}wirescope why gone --config /m);
  // The file was named, so the commands in the advice name it too, and can be pasted as they are.
  const [, pasted = ""] = /^ {2}wirescope (trust other .+)$/m.exec(text) ?? [];
  const approved = await runCommand([...pasted.split(" "), "--yes"], {
    env: { PATH: process.env.PATH, HOME: user.home },
  });
  expect(approved).toMatchObject({ code: 0, stdout: expect.stringContaining("other") });
  const isCommand = (line: string): boolean => line.startsWith("  wirescope ");
  for (const line of text.split("\n").filter((each) => !isCommand(each))) expect(line.length).toBeLessThanOrEqual(100);
});

test("[TS-D-CLI-6] status of one server shows only it, gives the same advice once, and rejects an unknown name", async () => {
  const needsToken = {
    type: "http",
    url: "https://x.example/mcp",
    headers: { Authorization: "Bearer ${UNSET_TOKEN}" },
  };
  user.configure({ everything, one: needsToken, two: needsToken });
  await run(["trust", "--all", "--yes"]);
  const one = await run(["status", "everything"]);
  expect(one).toMatchObject({ code: 0, stdout: expect.stringMatching(/^everything +connected/m) });
  expect(one.stdout).not.toMatch(/^one /m);
  expect(await run(["status", "nope"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Servers: everything"),
  });
  const { stdout } = await run(["status"]);
  expect(stdout).toContain("UNSET_TOKEN is not set, but headers.Authorization needs it. Export it, or pass a file");
  expect(stdout.match(/Export it/g)).toHaveLength(1);
  expect((await run(["tools"])).stderr.match(/Export it/g)).toHaveLength(1);
  // What helps a running gateway is something else.
  await startGateway(["--port", "0", "--log", "off", ...shared()], {
    env: { PATH: process.env.PATH, HOME: user.home },
  });
  const running = await run(["status", "one"]);
  expect(running).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("Stop the gateway, export UNSET_TOKEN, and start it"),
  });
});

test("[TS-D-CLI-6] status succeeds if every server works, and prints JSON", async () => {
  user.configure({ everything });
  await run(["trust", "--all", "--yes"]);
  const { code, stdout } = await run(["status", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).servers.everything).toMatchObject({
    type: "http",
    state: "READY",
    works: true,
    tools: expect.any(Number),
  });
});

test("[TS-D-CLI-6] status shows the servers of the running gateway, and a server that needs a sign-in as failed", async () => {
  const world = await createLoginWorld();
  const up = await startGateway(["--port", "0", "--trust", ...world.shared], { env: world.env });
  const { code, stdout } = await world.run(["status"]);
  expect(code).toBe(1);
  expect(stdout).toContain(`Servers of the gateway at ${new URL(up.endpoint).origin}.`);
  expect(stdout).toMatch(/^notes +not signed in +- +OAuth, not signed in/m);
  expect(stdout).toMatch(/^ {2}wirescope login notes --config \S+$/m);
  expect(stdout.match(/wirescope login/g)).toHaveLength(1);
  const { gateway, servers } = JSON.parse((await world.run(["status", "--json"])).stdout);
  expect(gateway).toBe(new URL(up.endpoint).origin);
  const { since } = servers.notes.failure;
  expect(servers.notes).toMatchObject({ works: false, failure: { code: "SIGN_IN_NEEDED" } });
  expect(since).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(stdout.replace(/\s+/g, " ")).toContain(`notes, failing since ${since}: `);
});

test("[TS-D-CLI-6] status names one command for a server that requires one more scope, and it works", async () => {
  const world = await createLoginWorld();
  const login = (...more: string[]): Promise<Run> =>
    world.run(["login", "notes", "--trust", ...more], { person: browsingPerson() });
  await login();
  world.tool.requireScope("notes:write");
  const { stdout } = await world.run(["status", "--trust"]);
  const [pasted = "", ...more] =
    stdout.replaceAll(/\s+/g, " ").match(/wirescope login .*?--config \S+|wirescope \w+/g) ?? [];
  expect(pasted).toMatch(/^wirescope login notes --scope notes:write --config \S+$/);
  expect(more).toEqual([]);
  await login("--scope", "notes:write");
  expect((await world.run(["status", "--trust"])).code).toBe(0);
});

test("[TS-D-CLI-6] status --watch --json prints a line for each change until it is interrupted", async () => {
  user.configure({ everything });
  const env = { PATH: process.env.PATH ?? "", HOME: user.home };
  const watching = startCommand(["status", "--watch", "--json", "--interval", "50ms", ...shared()], { env });
  const [before = ""] = (await untilPrinted(watching, /\n/)).split("\n");
  expect(JSON.parse(before).servers.everything).toMatchObject({ works: false, failure: { code: "NOT_TRUSTED" } });
  await run(["trust", "--all", "--yes"]);
  // On a busy machine an attempt to connect may fail first, which is a change too.
  await untilPrinted(watching, /"state":"READY"/);
  watching.process.kill("SIGINT");
  expect(await watching.ended).toBe(0);
  const lines = watching.stdout.trimEnd().split("\n");
  expect(JSON.parse(lines.at(-1) ?? "").servers.everything).toMatchObject({ works: true, state: "READY" });
  expect(lines.filter((line, index) => line === lines[index - 1])).toEqual([]);
});

test("status accepts an interval only with --watch", async () => {
  user.configure({ everything });
  expect(await run(["status", "--interval", "1s"])).toMatchObject({ code: 2 });
  expect(await run(["status", "--watch", "--interval", "soon"])).toMatchObject({ code: 2 });
});
