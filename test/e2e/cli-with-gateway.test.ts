import { beforeEach, expect, test } from "vitest";
import { createUserFolder, type Run, runCommand, startGateway } from "./command.test.helper.js";
import { everything as everythingServer } from "./real-servers.test.helper.js";
import { runGateway } from "./running-command.test.helper.js";
import { smallEntry } from "./small-servers.test.helper.js";

let run: (...argv: readonly string[]) => Promise<Run>;
let notice: string;

beforeEach(async () => {
  const user = createUserFolder();
  const env = { PATH: process.env.PATH, HOME: user.home };
  const everything = { command: process.execPath, args: [everythingServer, "stdio"] };
  const file = user.configure({ small: smallEntry, everything, broken: { command: "/nowhere/at-all" } });
  const { endpoint } = await runGateway(["--log", "off", "--json", "--trust", "--config", file], { env });
  notice = `wirescope: Using the gateway at ${new URL(endpoint).origin} (process ${process.pid}), which serves ${file}.\n`;
  run = (...argv) => runCommand([...argv, "--config", file], { env });
});

test("tools, call, prompts, resources and ping use the servers of the running gateway, with their own names", async () => {
  // Not approved: only the gateway, which was started with --trust, may use them.
  const sum = await run("call", "small", "get-sum", "a=20", "b=22");
  expect(sum).toMatchObject({ code: 0, stdout: expect.stringContaining("42"), stderr: notice });
  const tool = await run("tools", "small", "get-sum");
  expect(tool.stdout).toContain("wirescope call small get-sum");
  const { stdout, stderr, code } = await run("tools");
  expect(code).toBe(1);
  expect(stderr.startsWith(notice)).toBe(true);
  expect(stderr).toContain("/nowhere/at-all");
  expect(stdout).toMatch(/^small +get-sum/m);
  expect(stdout).toMatch(/^everything +echo/m);
  const listed = JSON.parse((await run("tools", "everything", "--json")).stdout).everything.tools;
  expect(listed[0]).not.toHaveProperty("_meta");

  expect((await run("prompts", "everything")).stdout).toMatch(/^everything +args-prompt/m);
  const prompt = await run("prompts", "everything", "args-prompt", "city=Paris");
  expect(prompt).toMatchObject({ code: 0, stdout: expect.stringContaining("Paris") });
  const resources = JSON.parse((await run("resources", "everything", "--json")).stdout).everything;
  const [{ uri }] = resources.resources;
  expect(await run("resources", "everything", uri)).toMatchObject({ code: 0, stderr: notice });

  const ping = JSON.parse((await run("ping", "everything", "--json")).stdout).everything;
  expect(ping.pingMs).toBeGreaterThan(0);
  expect(ping.server.name).toContain("everything");
  expect(await run("ping", "broken")).toMatchObject({ code: 1, stderr: expect.stringContaining("/nowhere/at-all") });
});

test("a mistyped server or tool is a usage error that lists those of the gateway, and options of this process leave it alone", async () => {
  expect(await run("call", "smal", "get-sum")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Servers: small, everything, broken."),
  });
  expect(await run("call", "small", "get-sun")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Did you mean get-sum?"),
  });
  for (const option of ["--debug", "--vault=memory"]) {
    const own = await run("tools", "small", option);
    expect(own.stderr).not.toContain("Using the gateway");
    expect(own.stderr).toContain("pending approval");
  }
});

test("page prints a link to the gateway of this folder, and the options choose another", async () => {
  const other = createUserFolder();
  const env = { PATH: process.env.PATH, HOME: other.home };
  const files = ["a", "b"].map(() => createUserFolder().configure({ small: smallEntry }));
  const origins: string[] = [];
  for (const file of files) {
    const { endpoint } = await startGateway(["--log", "off", "--port", "0", "--trust", "--config", file], { env });
    origins.push(new URL(endpoint).origin);
  }
  for (const [index, file] of files.entries()) {
    const { stdout } = await runCommand(["page", "--config", file], { env });
    expect(new URL(stdout).origin).toBe(origins[index]);
  }
  // The one that was started last.
  expect(new URL((await runCommand(["page", "--endpoint"], { env })).stdout).origin).toBe(origins[1]);
  other.configure({});
  expect(await runCommand(["page", "--config", other.file], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/No gateway is running with this configuration\..*--endpoint/),
  });
});
