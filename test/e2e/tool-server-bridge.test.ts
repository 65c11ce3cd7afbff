import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { program, runCommand } from "./command.test.helper.js";
import { type FaultServer, startFaultServer, withEach } from "./fault-servers.test.helper.js";
import {
  defer,
  expectNothingLeft,
  failureOf,
  mark,
  openConnection,
  processesOf,
  textOf,
  until,
  type WorldOptions,
} from "./tool-server-world.test.helper.js";

const certificate = (name: string): string => fileURLToPath(new URL(`../certificates/${name}.pem`, import.meta.url));
const pem = (name: string): string => readFileSync(certificate(name), "utf8");
const tls = { cert: pem("server"), key: pem("server-key"), ca: pem("ca") };

/** The entry as a project writes it: the bridge as its command, and the paths of certificate and key as variables. */
function entryOf(url: unknown, ...more: readonly string[]): Record<string, unknown> {
  const files = ["--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}", "--ca", "${SERVER_CA}"];
  return { command: process.execPath, args: [program, "bridge", ...files, ...more, String(url)] };
}

function variables(client = "client", ca = "ca"): NonNullable<WorldOptions["variables"]> {
  return {
    PATH: process.env.PATH,
    CLIENT_CERT: certificate(client),
    CLIENT_KEY: certificate(`${client}-key`),
    SERVER_CA: certificate(ca),
  };
}

const kinds = [
  { kind: "http", era: "modern", tls },
  { kind: "http", era: "legacy", tls },
  { kind: "ws", era: "modern", tls },
] as const;

interface Bridge {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
}

function startBridge(args: readonly string[], env: Record<string, string> = {}): Bridge {
  const child = spawn(process.execPath, [program, "bridge", ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: "pipe",
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  defer(() => child.kill("SIGKILL"));
  return { child, stdout: () => stdout, stderr: () => stderr };
}

const files = ["--cert", certificate("client"), "--key", certificate("client-key"), "--ca", certificate("ca")];
const ping = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`;

describe("[TS-MTLS-3] the bridge to servers behind mutual TLS, over HTTP in both eras and over WebSocket", () => {
  const later: (() => unknown)[] = [];
  let servers: readonly FaultServer[] = [];
  let server: FaultServer;
  beforeAll(async () => {
    servers = await Promise.all(kinds.map((kind) => startFaultServer(kind, (cleanup) => void later.push(cleanup))));
    server = servers[1] ?? expect.unreachable();
  });
  afterAll(async () => {
    for (const cleanup of later.reverse()) await cleanup();
  });
  expectNothingLeft();

  test("lists and calls tools, cancels calls, forwards changes, and works again when its server is back after it died", async () => {
    await withEach(servers, async (server) => {
      const connection = await openConnection(entryOf(server.entry.url), { variables: variables() });
      // A slow server is treated as a legacy server; so may the bridge be on a busy machine.
      if ((await connection.connect()).era === "modern") expect(server.era).toBe("modern");
      expect((await connection.listTools()).tools.map(({ name }) => name)).toContain("echo");
      expect(await textOf(connection, "echo", { text: "hello" })).toBe("hello");
      const progress: number[] = [];
      const steps = { name: "steps", arguments: { count: 3, pauseMs: 5 } };
      await connection.callTool(steps, { onProgress: (step) => progress.push(step.progress) });
      expect(progress).toEqual([1, 2, 3]);

      const controller = new AbortController();
      const hang = { name: "hang", arguments: { text: "a" } };
      const call = failureOf(connection.callTool(hang, { signal: controller.signal }));
      await until(() => expect(server.count("run hang a")).toBe(1));
      controller.abort();
      expect((await call).code).toBe("CALL_CANCELLED");
      await until(() => expect(server.count("cancelled hang a")).toBe(1));

      const changes: string[] = [];
      connection.onListChanged((list) => changes.push(list));
      await until(async () => {
        await textOf(connection, "change");
        await until(() => expect(changes).toContain("tools"), 500);
      });
      const size = 5 * 1024 * 1024;
      expect(await textOf(connection, "big", { count: size })).toHaveLength(size);

      // The server dies.
      const before = server.count("run hang");
      const calls = Array.from({ length: 20 }, () => failureOf(connection.callTool({ name: "hang", arguments: {} })));
      await until(() => expect(server.count("run hang")).toBe(before + 20));
      await server.kill();
      for (const { code, message } of await Promise.all(calls)) {
        expect([code, message]).toEqual(["CALL_REFUSED", expect.stringMatching(/closed the connection|cut off/)]);
      }
      const away = await failureOf(textOf(connection, "echo", { text: "away" }));
      expect(away.message).toMatch(/nothing listens there/);
      await server.restart();
      expect(await textOf(connection, "echo", { text: "back" })).toBe("back");
      expect([server.count("run hang"), server.count("run echo back")]).toEqual([before + 20, 1]);
    });
  });

  test.each([
    ["the server does not trust its certificate", variables("other-client"), /client certificate/],
    ["it does not trust the server", variables("client", "other-ca"), /CA that is not trusted here/],
  ])("reports the reason if %s", async (_, given, expected) => {
    const before = server.count("session");
    const connection = await openConnection(entryOf(server.entry.url), { variables: given });
    const { code, message } = await failureOf(connection.connect());
    expect([code, message]).toEqual(["CALL_REFUSED", expect.stringMatching(expected)]);
    expect(server.count("session")).toBe(before);
  });

  test.each([
    [
      "a file that is not there",
      { ...variables(), CLIENT_CERT: "/no/such/file.pem" },
      /Cannot read the file .* \(--cert\)/,
    ],
    ["a key of another certificate", { ...variables(), CLIENT_KEY: certificate("other-client-key") }, /cannot be used/],
  ])("ends at once and gives the reason for %s", async (_, given, expected) => {
    const connection = await openConnection(entryOf("https://localhost:1/mcp"), { variables: given });
    const { code, message, details } = await failureOf(connection.connect());
    expect([code, message]).toEqual(["CHILD_EXITED", expect.stringMatching(expected)]);
    expect(details.exit).toMatchObject({ kind: "exited" });
  });

  test("ends with its client, however the client ends, and leaves no orphan", async () => {
    const gone = startBridge([...files, String(server.entry.url)]);
    gone.child.stdin?.write(ping);
    await until(() => expect(gone.stdout()).toContain('"id":1'));
    gone.child.stdin?.end();
    expect((await once(gone.child, "close"))[0]).toBe(0);

    // A client that is killed: a shell in between holds the other end.
    const own = `${mark}-orphan`;
    const script =
      "const { spawn } = require('node:child_process');" +
      "spawn(process.execPath, process.argv.slice(1), { stdio: ['pipe', 'ignore', 'ignore'] });setInterval(() => {}, 1000);";
    const client = spawn(process.execPath, ["-e", script, program, "bridge", ...files, `${server.entry.url}?${own}`]);
    await until(() => expect(processesOf(own)).toHaveLength(2));
    client.kill("SIGKILL");
    await until(() => expect(processesOf(own)).toEqual([]));
  });

  test("sends headers with environment variables replaced, and shows no secret of them, not even with --debug", async () => {
    const args = [
      "--debug",
      ...files,
      "--header",
      "Authorization: Bearer $BRIDGE_TOKEN",
      "--header",
      "X-Tenant: ${T:-acme}",
    ];
    const env = { BRIDGE_TOKEN: "t0ken-of-the-bridge" };
    const bridge = startBridge([...args, `${server.entry.url}?key=qu3ry-s3cret`], env);
    bridge.child.stdin?.write(ping);
    await until(() => expect(bridge.stdout()).toContain('"id":1'));
    await server.kill();
    bridge.child.stdin?.write(ping.replace('"id":1', '"id":2'));
    await until(() => expect(bridge.stdout()).toContain('"id":2'));
    bridge.child.stdin?.end();
    await once(bridge.child, "close");
    expect(server.lines()).toContain("header authorization Bearer t0ken-of-the-bridge");
    expect(server.lines()).toContain("header x-tenant acme");
    expect(bridge.stderr()).toContain("Authorization");
    expect(bridge.stderr() + bridge.stdout()).not.toMatch(/t0ken-of-the-bridge|qu3ry-s3cret/);
  });
});

describe("wirescope bridge", () => {
  test.each<[string, readonly string[], RegExp]>([
    ["no url", [], /bridge requires <url>/],
    [
      "two urls, of which neither is repeated",
      ["https://a.example/", "Authorization: Bearer s3cr3t"],
      /takes one <url>/,
    ],
    ["a certificate alone", ["--cert", "a.pem", "https://a.example/"], /--cert and --key must be used together/],
    ["what is no url", ["nonsense"], /The URL is not absolute/],
    [
      "a host and port of this machine",
      ["localhost:8080/mcp?key=s3cr3t"],
      /The URL has no scheme\. Write https:\/\/localhost:8080, or http:\/\/localhost:8080 with --allow-insecure-loopback\./,
    ],
    [
      "an address and port of this machine",
      ["127.0.0.1:8080", "--type", "ws"],
      /Write wss:\/\/127\.0\.0\.1:8080, or ws:\/\/127\.0\.0\.1:8080 with --allow-insecure-loopback\./,
    ],
    ["a host and port of another machine", ["a.example:8080"], /no scheme\. Write https:\/\/a\.example:8080\. /],
    ["a scheme of another protocol", ["ftp://localhost/"], /https and wss only\. Use https:\/\/ or wss:\/\/\./],
    ["a user in the url", ["https://me:s3cr3t@a.example/"], /user name or password/],
    ["a type that is not the url's", ["--type", "ws", "https://a.example/"], /does not match the scheme of the URL/],
    ["an unknown type", ["--type", "x", "https://a.example/"], /--type must be one of/],
    ["a header without a name", ["--header", "s3cr3t", "https://a.example/"], /--header requires a header such as/],
    [
      "a variable that is not set",
      ["--header", "X: ${NOT_SET}", "https://a.example/"],
      /requires NOT_SET, which is not set/,
    ],
    ["a reference that is none", ["--header", "X: ${s3cr3t", "https://a.example/"], /is not a variable reference/],
    ["an option that is not there", ["--certificate", "a.pem", "https://a.example/"], /Unknown option/],
  ])("refuses %s with exit code 2", async (_, args, expected) => {
    const { code, stdout, stderr } = await runCommand(["bridge", ...args]);
    const said = stdout + stderr;
    expect([code, said]).toEqual([2, expect.stringMatching(expected)]);
    expect(said).not.toContain("s3cr3t");
  });

  test.each([["http://a.example/"], ["ws://a.example/"], ["http://a.example/", "--allow-insecure-loopback"]])(
    "[TS-SEC-3] refuses %s, because only https and wss are used",
    async (...args) => {
      expect(await runCommand(["bridge", ...args])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("https and wss only. Use https:// or wss://."),
      });
    },
  );

  test.each(["http://localhost:1/", "http://127.0.0.1:1/", "ws://[::1]:1/"])(
    "[TS-SEC-3] refuses %s, and names the option that allows it",
    async (url) => {
      expect(await runCommand(["bridge", url])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          "https and wss only. If the server runs on this machine, allow it with --allow-insecure-loopback.",
        ),
      });
    },
  );
});
