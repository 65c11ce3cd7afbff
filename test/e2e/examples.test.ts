import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { connectToolServer } from "@wirescope/tool-server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runCommand } from "./command.test.helper.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
let home: string;
let env: NodeJS.ProcessEnv;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "examples-"));
  env = { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, "config"), XDG_DATA_HOME: join(home, "data") };
});

afterAll(() => rmSync(home, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of this repository as a user does: with Node, on the built packages. */
function run(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env: { ...env, ...more } }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

const approve = (example: string): Promise<Ran> =>
  runCommand(["trust", "everything", "--yes", "--config", join(root, "examples", example, ".mcp.json")], { env });

test("calls a tool of a child process in the example connect-stdio", async () => {
  expect(await run(["examples/connect-stdio/main.js"])).toEqual({ code: 0, stdout: "Echo: hello\n", stderr: "" });
});

test("names the command that approves its server in the example open-servers, and lists its tools after that", async () => {
  const before = await run(["examples/open-servers/main.js"]);
  expect(before.stdout).toMatch(/^everything: NOT_TRUSTED .*wirescope trust everything --config .*\.mcp\.json$/m);
  expect(await approve("open-servers")).toMatchObject({ code: 0 });
  const after = await run(["examples/open-servers/main.js"]);
  expect(after.stdout).toMatch(/^everything: IDLE\neverything: \d+ tools\n$/);
});

test("offers a server in the example gateway to the example connect-url, which needs the token", async () => {
  expect(await approve("gateway")).toMatchObject({ code: 0 });
  const gateway = start(["examples/gateway/main.js"], { PORT: "0" });
  const lines = createInterface({ input: gateway.stdout! })[Symbol.asyncIterator]();
  const endpoint = String((await lines.next()).value).replace("Endpoint ", "");
  const token = String((await lines.next()).value).replace("Token    ", "");
  const connected = await connectToolServer({ url: endpoint, headers: { Authorization: `Bearer ${token}` } });
  await expect.poll(async () => (await connected.listTools()).tools.length).toBeGreaterThan(0);
  await connected.close();
  const connectUrl = (given: string): Promise<Ran> => run(["examples/connect-url/main.js", endpoint], { TOKEN: given });
  expect((await connectUrl(token)).stdout).toContain("everything__echo\n");
  const refused = await connectUrl("wrong-token");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("UNAUTHORIZED");
  expect(refused.stderr).not.toContain("wrong-token");
  gateway.kill("SIGTERM");
  expect(await once(gateway, "exit")).toEqual([0, null]);
});

test("mounts a gateway into an express app in the example express-gateway, behind the token", async () => {
  expect(await approve("express-gateway")).toMatchObject({ code: 0 });
  const app = start(["examples/express-gateway/main.js"], { PORT: "0" });
  const lines = createInterface({ input: app.stdout! })[Symbol.asyncIterator]();
  const url = String((await lines.next()).value).replace("Endpoint ", "");
  const token = String((await lines.next()).value).replace("Token    ", "");
  expect((await fetch(url, { method: "POST" })).status).toBe(401);
  expect(await (await fetch(new URL("/", url))).text()).toBe("The program itself.\n");
  const connected = await connectToolServer({ url, headers: { Authorization: `Bearer ${token}` } });
  await expect.poll(async () => (await connected.listTools()).tools.length).toBeGreaterThan(0);
  const { content } = await connected.callTool({ name: "everything__echo", arguments: { message: "hello" } });
  expect(content).toEqual([{ type: "text", text: "Echo: hello" }]);
  await connected.close();
  app.kill("SIGTERM");
  expect(await once(app, "exit")).toEqual([0, null]);
});

/** A model that calls a tool that does not exist, then the tool `echo`, and then says what it got. */
async function serveModel(): Promise<string> {
  const server = createServer(async (request, response) => {
    const { messages, tools } = JSON.parse(await text(request)) as {
      messages: { content?: string }[];
      tools: { function: { name: string } }[];
    };
    const results = messages.slice(1).flatMap(({ content }) => content ?? []);
    const echo = tools.find(({ function: { name } }) => name === "everything__echo")?.function.name;
    const chosen = { name: results.length === 0 ? "nothing" : echo, arguments: '{"message":"hello"}' };
    const message = {
      role: "assistant",
      tool_calls: [{ id: `${messages.length}`, type: "function", function: chosen }],
    };
    const last = { role: "assistant", content: results.join(" ") };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: results.length < 2 ? message : last }] }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

test("lets a model use the tools of a server in the example agent, which the documentation has too", async () => {
  const program = readFileSync(join(root, "examples/agent/main.js"), "utf8");
  expect(readFileSync(join(root, "docs/tool-servers.md"), "utf8")).toContain(`\`\`\`js\n${program}\`\`\``);
  expect(await approve("agent")).toMatchObject({ code: 0 });
  const env = { MODEL_URL: await serveModel() };
  expect(await run(["examples/agent/main.js", "Echo hello."], env)).toEqual({
    code: 0,
    stdout: "There is no tool nothing. Echo: hello\n",
    stderr: 'nothing {"message":"hello"}\neverything__echo {"message":"hello"}\n',
  });
});

function start(args: readonly string[], more: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...env, ...more },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
