import { setMaxListeners } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Interceptor } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { credentials, loadPackageDefinition, Metadata } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { createSecretRegistry, ToolServerError } from "@wirescope/tool-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { configurationOf, pollOptions } from "../gateway.test.helper.js";
import { makeEcho, modernListener, serve, serveModern, small } from "../tool-servers.test.helper.js";
import { explain, startTestAdmin, type TestAdmin } from "./admin.test.helper.js";
import {
  AuthMethod,
  ConnectivityState,
  createAdminClient,
  readAdminError,
  type Server,
  Transport,
} from "./client/index.js";
import { connectAdmin } from "./connect-admin.js";

const variable = (name: string): string => `\${${name}}`;
const secret = "s3cret-of-the-ledger-0123456789";

/** A server that works, one that refuses, and one whose variable is not set. */
async function startThree(): Promise<TestAdmin> {
  const refusing = await serve((_, response) => void response.writeHead(401).end(`You sent Bearer ${secret}`));
  const entries = {
    // It states its own secret as its name.
    echo: { type: "http", url: await serveModern(makeEcho(`echo ${secret}`)) },
    ledger: {
      type: "http",
      url: `http://127.0.0.1:${refusing}/mcp`,
      headers: { Authorization: `Bearer ${variable("LEDGER_TOKEN")}` },
    },
    unset: { ...small, env: { KEY: variable("NOT_SET") } },
  };
  const configured = configurationOf(entries, {
    variables: { LEDGER_TOKEN: secret },
    configurationPath: "/project/.mcp.json",
  });
  return startTestAdmin({}, { configurations: [configured] });
}

async function listed({ admin }: Pick<TestAdmin, "admin">): Promise<Record<string, Server>> {
  const { servers } = await admin.listServers({});
  return Object.fromEntries(servers.map((server) => [server.name, server]));
}

describe("ListServers", () => {
  test("[TS-D-ADMIN-1] lists the state, authentication and Channelz id of each server, without a secret", async () => {
    const world = await startThree();
    await expect
      .poll(async () => Object.values(await listed(world)).map(({ state }) => state), pollOptions)
      .toEqual([ConnectivityState.READY, ConnectivityState.TRANSIENT_FAILURE, ConnectivityState.TRANSIENT_FAILURE]);
    await expect.poll(async () => (await listed(world)).echo?.toolCount, pollOptions).toBe(1);
    const { echo, ledger, unset } = await listed(world);
    expect(echo).toMatchObject({
      configuration: "/project/.mcp.json",
      transport: Transport.HTTP,
      authentication: { method: AuthMethod.NONE },
      serverName: expect.stringMatching(/^echo /),
    });
    expect(echo?.failure).toBeUndefined();
    const { channel } = await world.gateway.registry.getChannel(echo?.channelId ?? 0n);
    expect(channel?.ref?.name).toBe("echo");
    expect(ledger).toMatchObject({
      authentication: { method: AuthMethod.HEADERS },
      failure: { code: "UNAUTHORIZED" },
    });
    expect(unset).toMatchObject({
      transport: Transport.STDIO,
      failure: { code: "VARIABLE_UNUSABLE", unsetVariables: ["NOT_SET"] },
      channelId: 0n,
    });
    expect(unset?.authentication).toBeUndefined();
    const text = JSON.stringify([echo, ledger, unset], (_, value) => (typeof value === "bigint" ? `${value}` : value));
    expect(text).not.toContain(secret);
  });

  test("returns pages in the order of the configuration", async () => {
    const url = "http://127.0.0.1:1/mcp";
    const names = ["c", "a", "b"];
    const { admin } = await startTestAdmin(Object.fromEntries(names.map((name) => [name, { type: "http", url }])));
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await admin.listServers({ pageSize: 2, pageToken });
      expect(page.servers.length).toBeLessThanOrEqual(2);
      seen.push(...page.servers.map(({ name }) => name));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(seen).toEqual(names);
    await expect(admin.listServers({ pageToken: "gone" })).rejects.toThrow(/\[invalid_argument\].*first page/);
    await expect(admin.listServers({ pageSize: -1 })).rejects.toThrow(/\[invalid_argument\]/);
  });
});

describe("WatchServers", () => {
  /** Collects the messages to a watcher. */
  function watch({ admin }: TestAdmin): {
    messages: { servers: Record<string, Server>; removed: string[] }[];
    end(): void;
  } {
    const leaving = new AbortController();
    const messages: { servers: Record<string, Server>; removed: string[] }[] = [];
    const ended = (async () => {
      for await (const { servers, removed } of admin.watchServers({}, { signal: leaving.signal })) {
        messages.push({ servers: Object.fromEntries(servers.map((server) => [server.name, server])), removed });
      }
    })().catch(() => {});
    onTestFinished(async () => {
      leaving.abort();
      await ended;
    });
    return { messages, end: () => leaving.abort() };
  }

  test("[TS-D-ADMIN-2] sends all servers first, then each change, added and removed servers", async () => {
    const url = await serveModern(makeEcho("echo"));
    const world = await startTestAdmin({ echo: { type: "http", url }, old: { type: "http", url } });
    await expect.poll(async () => (await listed(world)).old?.toolCount, pollOptions).toBe(1);
    const { messages } = watch(world);
    await expect.poll(() => messages.length, pollOptions).toBeGreaterThan(0);
    expect(Object.keys(messages[0]?.servers ?? {})).toEqual(["echo", "old"]);
    await world.gateway.reload([configurationOf({ echo: { type: "http", url }, fresh: { type: "http", url } })]);
    const last = (name: string) => messages.findLast(({ servers }) => servers[name] !== undefined)?.servers[name];
    await expect.poll(() => messages.flatMap(({ removed }) => removed), pollOptions).toEqual(["old"]);
    await expect.poll(() => last("fresh")?.toolCount, pollOptions).toBe(1);
    expect(last("fresh")?.state).toBe(ConnectivityState.READY);
    // An unchanged server is not sent again.
    expect(messages.filter(({ servers }) => servers.echo !== undefined)).toHaveLength(1);
  });

  test("[TS-D-ADMIN-11] says why the last reload failed, without a secret and as ListServers does, until one succeeds", async () => {
    let failure: ToolServerError | undefined;
    const secrets = createSecretRegistry();
    secrets.add(secret);
    const { admin } = await startTestAdmin({}, { reloadFailure: () => failure, secrets });
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const stream = admin.watchServers({}, { signal: leaving.signal })[Symbol.asyncIterator]();
    expect((await stream.next()).value?.reloadFailure).toBeUndefined();
    failure = new ToolServerError("CONFIGURATION_UNREADABLE", { problem: `Broken at ${secret}.`, advice: "Fix it." });
    const shown = { code: "CONFIGURATION_UNREADABLE", message: "Broken at [redacted]. Fix it.", advice: "Fix it." };
    expect((await stream.next()).value?.reloadFailure).toMatchObject(shown);
    expect((await admin.listServers({})).reloadFailure).toMatchObject(shown);
    failure = undefined;
    expect((await stream.next()).value?.reloadFailure).toBeUndefined();
    expect((await admin.listServers({})).reloadFailure).toBeUndefined();
  });

  test("ends when the gateway shuts down, with a status that says so", async () => {
    const { gateway, admin } = await startTestAdmin({});
    const stream = admin.watchServers({})[Symbol.asyncIterator]();
    expect((await stream.next()).value?.servers).toEqual([]);
    const next = stream.next();
    await gateway.close({ graceMs: 0 });
    await expect(next).resolves.toMatchObject({ done: true });
  });

  test("frees a watcher's slot when it disconnects", async () => {
    const { admin } = await startTestAdmin({});
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const open = (): Promise<unknown> =>
      admin.watchServers({}, { signal: leaving.signal })[Symbol.asyncIterator]().next();
    await Promise.all(Array.from({ length: 64 }, open));
    await expect(open()).rejects.toThrow(/\[resource_exhausted\] The limit of 64 watchers is reached/);
    leaving.abort();
    const again = new AbortController();
    onTestFinished(() => again.abort());
    const retry = (): Promise<unknown> =>
      admin.watchServers({}, { signal: again.signal })[Symbol.asyncIterator]().next();
    await expect.poll(() => retry().then(() => "open", String), pollOptions).toBe("open");
  });
});

describe("Explain", () => {
  test("reconnects a server that works now, without waiting for the next attempt", async () => {
    let isRefusing = true;
    const listener = modernListener(makeEcho("echo"));
    const port = await serve((request, response) => {
      if (isRefusing) response.writeHead(401).end();
      else listener(request, response);
    });
    const entries = {
      echo: {
        type: "http",
        url: `http://127.0.0.1:${port}/mcp`,
        headers: { Authorization: `Bearer ${variable("ECHO_TOKEN")}` },
      },
    };
    const backOff = { firstMs: 60_000, maxMs: 60_000 };
    const configurations = [configurationOf(entries, { variables: { ECHO_TOKEN: secret }, backOff })];
    const { admin, gateway } = await startTestAdmin({}, { configurations });
    const state = (): string | undefined => gateway.servers()[0]?.state;
    await expect.poll(state, pollOptions).toBe("TRANSIENT_FAILURE");
    isRefusing = false;
    expect(await explain(admin, "echo")).toMatchObject({ explanation: { well: true } });
    await expect.poll(state, pollOptions).toBe("READY");
  });

  test("leaves no channel behind, whether the server refuses or does not respond", async () => {
    const port = await serve((_, response) => response.writeHead(401).end());
    const entries = {
      refusing: {
        type: "http",
        url: `http://127.0.0.1:${port}/mcp`,
        headers: { Authorization: `Bearer ${variable("ECHO_TOKEN")}` },
      },
      silent: { type: "http", url: "http://127.0.0.1:1/mcp" },
    };
    const configurations = [configurationOf(entries, { variables: { ECHO_TOKEN: secret } })];
    const { admin, gateway } = await startTestAdmin({}, { configurations });
    for (const name of Object.keys(entries)) await explain(admin, name);
    const names = async (): Promise<string[]> =>
      (await gateway.registry.getTopChannels()).channel.map(({ ref }) => ref?.name ?? "");
    await expect.poll(names, pollOptions).toEqual(["refusing", "silent"]);
  });
});

describe("access control", () => {
  const path = "/wirescope.v1.AdminService/ListServers";

  test("[TS-D-ADMIN-3] requires the token over every protocol", async () => {
    const { url, token } = await startTestAdmin({});
    const interceptors: Interceptor[] = [
      (next) => (request) => {
        request.header.set("authorization", "Bearer wrong");
        return next(request);
      },
    ];
    for (const create of [createConnectTransport, createGrpcWebTransport, createGrpcTransport]) {
      for (const given of [[], interceptors]) {
        const sessionManager = new Http2SessionManager(url);
        const transport = create({ baseUrl: url, httpVersion: "2", interceptors: given, sessionManager });
        await expect(createAdminClient(transport).listServers({})).rejects.toThrow(/\[unauthenticated\]/);
        sessionManager.abort();
      }
    }
    const wrong = connectAdmin(url, { token: "wrong" });
    await expect(wrong.listServers({})).rejects.toThrow(/\[unauthenticated\]/);
    await expect(wrong.signIn({ server: "a" })[Symbol.asyncIterator]().next()).rejects.toThrow(/\[unauthenticated\]/);
    await expect(connectAdmin(url, { token }).listServers({})).resolves.toMatchObject({ servers: [] });
  });

  test("[TS-D-ADMIN-3] refuses foreign Host and Origin headers", async () => {
    const { url, token } = await startTestAdmin({});
    const status = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const all = { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers };
        const request = httpRequest(`${url}${path}`, { method: "POST", headers: all }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.on("error", reject).end("{}");
      });
    expect(await status({})).toBe(200);
    expect(await status({ host: "evil.example" })).toBe(403);
    expect(await status({ origin: "https://evil.example" })).toBe(403);
  });

  test.each([
    ["the token of clients", {}, {}],
    ["another administrator's token", {}, { adminToken: "wrong" }],
    ["none, where everybody is let in", { listen: { token: false } }, {}],
  ] as const)(
    "[TS-D-ADMIN-4] lists servers with %s, but changes nothing and starts no program",
    async (_, options, given) => {
      const folder = mkdtempSync(join(tmpdir(), "wirescope-starts-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const starts = join(folder, "starts");
      const program = `require("node:fs").appendFileSync(${JSON.stringify(starts)}, "s")`;
      const entries = {
        a: { type: "http", url: "http://127.0.0.1:1/mcp" },
        program: { command: process.execPath, args: ["-e", program] },
      };
      // The gateway itself starts it once, and not again for a minute.
      const configurations = [configurationOf(entries, { backOff: { firstMs: 60_000, maxMs: 60_000 } })];
      const { url, token, gateway } = await startTestAdmin({}, { ...options, configurations });
      const admin = connectAdmin(url, { token: token || undefined, ...given });
      expect((await admin.listServers({})).servers).toHaveLength(2);
      const denied = /\[permission_denied\] This method requires the administrator's token/;
      const isDown = (): boolean => gateway.servers()[1]?.state === "TRANSIENT_FAILURE";
      await expect.poll(() => existsSync(starts) && isDown(), pollOptions).toBe(true);
      const startsBefore = readFileSync(starts, "utf8");
      await expect(explain(admin, "program")).rejects.toThrow(denied);
      await expect(admin.reconnect({ server: "program" })).rejects.toThrow(denied);
      expect(readFileSync(starts, "utf8")).toBe(startsBefore);
      await expect(admin.signIn({ server: "a" })[Symbol.asyncIterator]().next()).rejects.toThrow(denied);
      await expect(admin.completeSignIn({ signInId: "a", address: "b" })).rejects.toThrow(denied);
      await expect(admin.signOut({ server: "a" })).rejects.toThrow(denied);
      await expect(admin.approve({ server: "a", fingerprint: "b" })).rejects.toThrow(denied);
      await expect(admin.setDebug({ enabled: true })).rejects.toThrow(denied);
    },
  );
});

describe("other clients", () => {
  test("trusts a private CA over TLS if it is given", async () => {
    const pem = (name: string): string =>
      readFileSync(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");
    const tls = { cert: pem("server"), key: pem("server-key") };
    const { url, token } = await startTestAdmin({}, { listen: { tls } });
    await expect(connectAdmin(url, { token, ca: pem("ca") }).listServers({})).resolves.toMatchObject({ servers: [] });
    await expect(connectAdmin(url, { token }).listServers({})).rejects.toThrow(/certificate/);
  });

  test("[TS-D-ADMIN-5] serves grpc-js over gRPC", async () => {
    const world = await startThree();
    const proto = fileURLToPath(new URL("../../../../proto", import.meta.url));
    const loaded = loadSync("wirescope/v1/admin.proto", { includeDirs: [proto], enums: String, longs: String });
    // biome-ignore lint/suspicious/noExplicitAny: grpc-js creates the class at run time.
    const { AdminService } = (loadPackageDefinition(loaded) as any).wirescope.v1;
    const client = new AdminService(world.gateway.address, credentials.createInsecure());
    onTestFinished(() => client.close());
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${world.token}`);
    const names = await new Promise((resolve, reject) => {
      client.listServers({}, metadata, (error: Error | null, response: { servers: { name: string }[] }) =>
        error === null ? resolve(response.servers.map(({ name }) => name)) : reject(error),
      );
    });
    expect(names).toEqual(["echo", "ledger", "unset"]);
  });

  test("[TS-D-ADMIN-5] serves the browser client through fetch, including streams", async () => {
    const { url, token } = await startTestAdmin({ a: { type: "http", url: "http://127.0.0.1:1/mcp" } });
    const admin = createAdminClient({ url: `${url}/`, token });
    expect((await admin.listServers({})).servers.map(({ name }) => name)).toEqual(["a"]);
    for await (const { servers } of admin.watchServers({})) {
      expect(servers).toHaveLength(1);
      break;
    }
    await expect(createAdminClient({ url }).listServers({})).rejects.toThrow(/\[unauthenticated\]/);
  });
});

describe("failures", () => {
  test("reports a failure with a status, the code of the gateway, and advice", async () => {
    const { admin } = await startTestAdmin({ echo: small });
    const error = await admin.reconnect({ server: "echoo" }).catch((caught: unknown) => caught);
    expect(String(error)).toMatch(
      /\[not_found\] Server "echoo" does not exist in the configuration of the gateway\. Servers: echo\./,
    );
    expect(readAdminError(error)).toMatchObject({ status: "NotFound", failure: { code: "SERVER_UNKNOWN" } });
    expect(readAdminError(new Error("another"))).toEqual({ status: "Unknown", message: "another", failure: undefined });
    await expect(admin.signOut({ server: "echo" })).rejects.toThrow(
      /\[failed_precondition\] Server "echo" is of type stdio, which does not use OAuth/,
    );
    await expect(admin.completeSignIn({ signInId: "no", address: "" })).rejects.toThrow(
      /\[not_found\].*Start a new one/,
    );
    await expect(admin.getApproval({ server: "echo" })).rejects.toThrow(/\[unimplemented\]/);
  });
});
