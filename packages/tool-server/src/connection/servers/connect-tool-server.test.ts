import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import { createMemoryVault } from "../../auth/vault/memory-vault.js";
import type { ChildProcessInfo, ConnectionInfo } from "../../connection-info.js";
import { channels } from "../../diagnostics.js";
import { failureOf } from "../../failure-of.test.helper.js";
import { freePort } from "../../free-port.test.helper.js";
import { serveSse, smallEntry, smallProgram } from "../../small-servers.test.helper.js";
import { connectToolServer } from "./connect-tool-server.js";

const token = "secret-token-of-the-test";

/** A real server on this machine that requires the token. */
async function startServer(): Promise<{ url: string; server: Server }> {
  const handler = toNodeHandler(
    createMcpHandler(() => {
      const tools = new McpServer({ name: "guarded", version: "1.0.0" });
      tools.registerTool("greet", {}, async () => ({ content: [{ type: "text", text: "hello" }] }));
      return tools;
    }),
  );
  const server = createServer((request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) (handler as RequestListener)(request, response);
    else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, server };
}

/** The connections that were opened and not closed since. */
function watchConnections(): Set<ConnectionInfo> {
  const open = new Set<ConnectionInfo>();
  const onOpened = (info: unknown): void => void open.add(info as ConnectionInfo);
  const onClosed = (message: unknown): void => void open.delete((message as { subject: ConnectionInfo }).subject);
  channels["connection:opened"].subscribe(onOpened);
  channels["connection:closed"].subscribe(onClosed);
  onTestFinished(() => {
    channels["connection:opened"].unsubscribe(onOpened);
    channels["connection:closed"].unsubscribe(onClosed);
  });
  return open;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const textOf = ({ content }: { content: readonly unknown[] }): unknown => content[0];

test("connects by url with headers, lists and calls tools, and leaves no connection after close", async () => {
  const { url, server } = await startServer();
  const guarded = await connectToolServer({ url, headers: { Authorization: `Bearer ${token}` } });
  expect((await guarded.listTools()).tools.map(({ name }) => name)).toEqual(["greet"]);
  expect(textOf(await guarded.callTool({ name: "greet" }))).toEqual({ type: "text", text: "hello" });
  await guarded.close();
  await expect.poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(0);
});

test.each(["auto", "legacy"] as const)(
  "connects with client settings that name no client, in the era %s",
  async (era) => {
    const { url } = await startServer();
    const location = { url, headers: { Authorization: `Bearer ${token}` } };
    await using guarded = await connectToolServer(location, { client: { era } });
    expect(textOf(await guarded.callTool({ name: "greet" }))).toEqual({ type: "text", text: "hello" });
    await using local = await connectToolServer(smallEntry, { client: { era } });
    expect((await local.listTools()).tools).not.toEqual([]);
  },
);

test("closes at the end of a block that declares it with await using", async () => {
  const { url } = await startServer();
  const open = watchConnections();
  {
    await using guarded = await connectToolServer({ url, headers: { Authorization: `Bearer ${token}` } });
    expect(guarded.state).toBe("READY");
    expect(open.size).toBe(1);
  }
  expect(open.size).toBe(0);
});

test("connects to a child process by command, and ends it with close", async () => {
  let pid = 0;
  const onSocket = (info: unknown): void => {
    pid = (info as ChildProcessInfo).pid;
  };
  channels["socket:opened"].subscribe(onSocket);
  onTestFinished(() => void channels["socket:opened"].unsubscribe(onSocket));
  const server = await connectToolServer(
    { ...smallEntry, env: { GREETING: "$HOME ${HOME} %PATH%" } },
    { name: "local" },
  );
  const { content } = await server.callTool({ name: "add" });
  const [environment] = content.map((part) => (part.type === "text" ? JSON.parse(part.text).env : {}));
  // Values of code are not templates.
  expect(environment.GREETING).toBe("$HOME ${HOME} %PATH%");
  expect(server.info.name).toBe("local");
  expect(process.kill(pid, 0)).toBe(true);
  await server.close();
  await expect.poll(() => isAlive(pid)).toBe(false);
  expect((await failureOf(server.listTools())).code).toBe("CONNECTION_CLOSED");
});

test("falls back to HTTP with SSE if the server does not support Streamable HTTP", async () => {
  await using server = await connectToolServer({ url: await serveSse() });
  expect(server.info.kind).toBe("sse");
  const { content } = await server.callTool({ name: "echo", arguments: { message: "hi" } });
  expect(content).toEqual([{ type: "text", text: "Echo: hi" }]);
});

test("fails with UNAUTHORIZED for a wrong token, without quoting it, and leaves nothing open", async () => {
  const { url } = await startServer();
  const open = watchConnections();
  const wrong = "another-token-that-is-wrong";
  const error = await failureOf(connectToolServer({ url, headers: { Authorization: `Bearer ${wrong}` } }));
  expect(error.code).toBe("UNAUTHORIZED");
  expect(error.message).not.toContain(wrong);
  expect(open.size).toBe(0);
});

const oauth = { vault: createMemoryVault() };

test.each<[string, object, object?]>([
  ["no credential", {}],
  ["a wrong token", { headers: { Authorization: "Bearer another-token-that-is-wrong" } }],
  ["a token in another header", { headers: { "X-Token": "another-token-that-is-wrong" } }],
  ["a bare token", { headers: { Authorization: "another-token-that-is-wrong" } }],
  ["a header of the connection", { headers: { Host: "example.com" } }],
  ["no sign-in", {}, { oauth }],
])("speaks to a program of no entry, option or command of a configuration file, with %s", async (_, more, options) => {
  const { url } = await startServer();
  const { message } = await failureOf(connectToolServer({ url, ...more }, options));
  expect(message).not.toMatch(/\bentry\b|headersHelper| --|wirescope/);
});

test("names the value undefined if the program built a header from a variable that is not set", async () => {
  const { url } = await startServer();
  const headers = { Authorization: `Bearer ${process.env.A_VARIABLE_THAT_IS_NOT_SET}` };
  const error = await failureOf(connectToolServer({ url, headers }));
  expect(error).toMatchObject({
    code: "UNAUTHORIZED",
    details: { causes: expect.arrayContaining([expect.objectContaining({ code: "credentials-malformed" })]) },
    problem: expect.stringContaining(
      "Authorization contains the value undefined instead of a credential: a variable that it is built from is not set.",
    ),
    advice: "Set that variable.",
  });
});

test.each([
  ["before the first request", { get: async () => Promise.reject(new Error("the database is down")) }],
  ["after a refusal", { withLock: async () => Promise.reject(new Error("the database is down")) }],
])("reports an error of the application's own vault as CREDENTIAL_UNUSABLE, %s", async (_, broken) => {
  const { url } = await startServer();
  const oauth = {
    vault: { ...createMemoryVault(), ...broken },
    overrides: () => ({
      issuer: "http://127.0.0.1:1",
      client: { clientId: "robot", clientSecret: "of the robot" },
      grant: { kind: "client-credentials" as const },
    }),
  };
  const failure = await failureOf(connectToolServer({ url }, { oauth }));
  expect(failure).toMatchObject({ code: "CREDENTIAL_UNUSABLE", cause: { message: "the database is down" } });
  expect(failure.message).toContain('The application failed with "the database is down".');
});

test("says that a call in flight may have been executed when it is cancelled or its connection is closed", async () => {
  const program = smallProgram.replace("add: run", "add: () => undefined");
  const server = await connectToolServer({ command: process.execPath, args: ["-e", program] });
  const slow = { name: "add" };
  const cancelled = failureOf(server.callTool(slow, { signal: AbortSignal.timeout(200) }));
  expect(await cancelled).toMatchObject({ code: "CALL_CANCELLED", details: { wasSent: true } });
  const closed = failureOf(server.callTool(slow));
  await server.ping();
  await server.close();
  expect(await closed).toMatchObject({ code: "CONNECTION_CLOSED", details: { wasSent: true } });
  const after = await failureOf(server.callTool(slow));
  expect(after).toMatchObject({ code: "CONNECTION_CLOSED", details: { wasSent: false } });
});

test.each([
  ["a string", "https://notes.example.com/mcp"],
  ["neither a url nor a command", {}],
  ["undefined", undefined],
])("rejects %s instead of a url or command with a TypeError that shows both forms", async (_, location) => {
  const failure = await connectToolServer(location as never).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(TypeError);
  expect(String(failure)).toContain('{ url: "https://…" } or { command: "…", args: [] }');
});

test("names both headers that are the same, without a line, because there is no file", async () => {
  const headers = { "X-API-Key": "one", "x-api-key": "two" };
  const failure = await failureOf(connectToolServer({ url: "https://notes.example.com/mcp", headers }));
  expect(failure.message).toContain("x-api-key is the same header as X-API-Key. Keep one of the two.");
});

test("fails with SERVER_UNREACHABLE for a server that does not listen, and names the host", async () => {
  const open = watchConnections();
  const port = await freePort();
  const error = await failureOf(connectToolServer({ url: `http://127.0.0.1:${port}/mcp` }));
  expect(error.code).toBe("SERVER_UNREACHABLE");
  expect(error.message).toContain(`127.0.0.1:${port}`);
  expect(open.size).toBe(0);
});

test("refuses http:// unless the host is loopback, before anything is sent", async () => {
  const error = await failureOf(connectToolServer({ url: "http://tools.example.com/mcp" }));
  expect(error.code).toBe("ENTRY_INVALID");
  expect(error.message).toContain("https://");
  expect(error.message).not.toMatch(/\d+:\d+:/);
});

test("fails with CHILD_NOT_RUNNABLE for a program that does not exist", async () => {
  const error = await failureOf(connectToolServer({ command: "/nowhere/at-all" }));
  expect(error.code).toBe("CHILD_NOT_RUNNABLE");
});

test("ends the attempt to connect with CALL_CANCELLED if the signal is aborted", async () => {
  const silent = createServer(() => {});
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const stop = new AbortController();
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`;
  const failure = failureOf(connectToolServer({ url }, { signal: stop.signal }));
  await once(silent, "request");
  stop.abort();
  expect((await failure).code).toBe("CALL_CANCELLED");
});
