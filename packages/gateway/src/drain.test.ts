import type { Client } from "@modelcontextprotocol/client";
import { inputRequired, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { prefixedUri } from "./dispatch/prefixed-uri.js";
import {
  configurationOf,
  connect,
  pollOptions,
  slowLists,
  startTestGateway,
  type TestGateway,
  textOf,
} from "./gateway.test.helper.js";
import { pipes, serveHolding } from "./holding-servers.test.helper.js";
import { makeEcho, modernListener, serve, serveModern } from "./tool-servers.test.helper.js";

const call = (name: string) => ({ name, arguments: {} });
const form = { type: "object" as const, properties: {} };
const eliciting = { capabilities: { elicitation: { form: {} } } };
const deferred = (): { readonly promise: Promise<void>; resolve(): void } => {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The gateway's objects for servers in the registry. */
function objectsOf({ gateway: { registry } }: TestGateway): readonly number[] {
  return [registry.size.channels, registry.size.subchannels];
}

async function ready({ gateway }: TestGateway): Promise<void> {
  await expect.poll(() => gateway.servers().every(({ tools }) => tools !== undefined), pollOptions).toBe(true);
}

describe.each(["legacy", "modern"] as const)("a call in flight on a %s server that is changed", (era) => {
  test("continues a call on the old server, with progress, while new calls reach the replacement at once", async () => {
    const [old, fresh] = [await serveHolding("old", era), await serveHolding("new", era)];
    const gateway = await startTestGateway({ hold: old.entry }, { limits: slowLists });
    await ready(gateway);
    const before = objectsOf(gateway);
    const client = await connect(gateway, era);
    const received: number[] = [];
    const first = client.callTool(call("hold__hold"), { onprogress: ({ progress }) => void received.push(progress) });
    await expect.poll(() => old.held.length, pollOptions).toBe(1);

    await gateway.gateway.reload([configurationOf({ hold: fresh.entry })]);
    const second = client.callTool(call("hold__hold"));
    await expect.poll(() => fresh.held.length, pollOptions).toBe(1);
    await old.held[0]?.progress(7);
    await expect.poll(() => received, pollOptions).toEqual([7]);
    expect(objectsOf(gateway)).toEqual(before.map((count) => count + 1));
    const { channel } = await gateway.gateway.registry.getTopChannels();
    const trace = channel.flatMap(({ data }) => data?.trace?.events.map(({ description }) => description) ?? []);
    expect(trace.join("\n")).toMatch(/changed or removed in the configuration\. Its calls in flight have 600 s to end/);
    old.held[0]?.release();
    expect(textOf(await first)).toBe("old");

    await expect.poll(() => objectsOf(gateway), pollOptions).toEqual(before);
    await expect.poll(() => [...old.sockets].every(({ destroyed }) => destroyed), pollOptions).toBe(true);
    fresh.held[0]?.release();
    expect(textOf(await second)).toBe("new");
    // The end of the old server is not reported as a state of the new one.
    const states = gateway.events.flatMap((event) => (event.kind === "server-state" ? event.state : []));
    expect(states).not.toContain("SHUTDOWN");
  });

  test("cancels a call on the old server if its client cancels it, and leaves no object of that server", async () => {
    const old = await serveHolding("old", era);
    const gateway = await startTestGateway({ hold: old.entry }, { limits: slowLists });
    await ready(gateway);
    const client = await connect(gateway, era);
    const controller = new AbortController();
    const cancelled = expect(client.callTool(call("hold__hold"), { signal: controller.signal })).rejects.toThrow();
    await expect.poll(() => old.held.length, pollOptions).toBe(1);
    await gateway.gateway.reload([]);
    expect(objectsOf(gateway)).toEqual([1, 1]);
    expect(old.held[0]?.signal.aborted).toBe(false);
    controller.abort();
    await cancelled;
    await expect.poll(() => old.held[0]?.signal.aborted, pollOptions).toBe(true);
    await expect.poll(() => objectsOf(gateway), pollOptions).toEqual([0, 0]);
  });
});

test("keeps each call with its own server through consecutive reloads", async () => {
  const servers = [
    await serveHolding("0", "modern"),
    await serveHolding("1", "modern"),
    await serveHolding("2", "modern"),
  ];
  const [first] = servers;
  const gateway = await startTestGateway({ hold: first?.entry }, { limits: slowLists });
  const client = await connect(gateway, "modern");
  const calls = [];
  for (const { entry, held } of servers) {
    await gateway.gateway.reload([configurationOf({ hold: entry })]);
    calls.push(client.callTool(call("hold__hold")));
    await expect.poll(() => held.length, pollOptions).toBe(1);
  }
  // This reload changes nothing, and ends nothing.
  await gateway.gateway.reload([configurationOf({ hold: servers[2]?.entry })]);
  expect(objectsOf(gateway)).toEqual([3, 3]);
  for (const { held } of servers) held[0]?.release();
  expect((await Promise.all(calls)).map(textOf)).toEqual(["0", "1", "2"]);
  await expect.poll(() => objectsOf(gateway), pollOptions).toEqual([1, 1]);
});

test("keeps a removed process running until its client has responded to its request, even if it is added again meanwhile", async () => {
  const gateway = await startTestGateway({ pipes }, { limits: slowLists });
  const { promise: hasResponded, resolve: respond } = deferred();
  let questions = 0;
  const client = await connect(gateway, "legacy", eliciting, (prepared) =>
    prepared.setRequestHandler("elicitation/create", async () => {
      questions += 1;
      await hasResponded;
      return { action: "accept", content: {} };
    }),
  );
  const pidOf = async (tool: string) => Number(textOf(await client.callTool(call(tool))));
  const old = await pidOf("pipes__pid");
  const asking = pidOf("pipes__ask");
  await expect.poll(() => questions, pollOptions).toBe(1);

  await gateway.gateway.reload([]);
  await expect(client.callTool(call("pipes__pid"))).rejects.toThrow(/Tool "[^"]+" does not exist/);
  await gateway.gateway.reload([configurationOf({ pipes })]);
  const fresh = await pidOf("pipes__pid");
  expect(fresh).not.toBe(old);
  expect(isAlive(old)).toBe(true);
  respond();
  expect(await asking).toBe(old);
  await expect.poll(() => isAlive(old), pollOptions).toBe(false);
  expect(await pidOf("pipes__pid")).toBe(fresh);
});

describe("a call that does not end in time", () => {
  const limits = { ...slowLists, drainMs: 50 };
  const notDrained =
    /"slow" was changed or removed in the configuration during tools\/call\. .* within 50 ms .* drainMs/;

  test.each(["legacy", "modern"] as const)(
    "cancels a late call with the reason, also on its %s server, without affecting the replacement",
    async (era) => {
      const [old, fresh] = [await serveHolding("old", era), await serveHolding("new", era)];
      const gateway = await startTestGateway({ slow: old.entry }, { limits });
      const client = await connect(gateway, "modern");
      const first = client.callTool(call("slow__hold"));
      const failed = expect(first).rejects.toMatchObject({
        message: expect.stringMatching(notDrained),
        data: { reason: "CONNECTION_CLOSED" },
      });
      await expect.poll(() => old.held.length, pollOptions).toBe(1);
      await gateway.gateway.reload([configurationOf({ slow: fresh.entry })]);
      const second = client.callTool(call("slow__hold"));
      await failed;
      await expect.poll(() => old.held[0]?.signal.aborted, pollOptions).toBe(true);
      await expect.poll(() => objectsOf(gateway), pollOptions).toEqual([1, 1]);
      await expect.poll(() => fresh.held.length, pollOptions).toBe(1);
      fresh.held[0]?.release();
      expect(textOf(await second)).toBe("new");
    },
  );

  test("ends the process of a server that never responds", async () => {
    const gateway = await startTestGateway({ slow: pipes }, { limits });
    const client = await connect(gateway, "modern");
    const pid = Number(textOf(await client.callTool(call("slow__pid"))));
    const failed = expect(client.callTool(call("slow__never"))).rejects.toThrow(notDrained);
    await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBe(1);
    await gateway.gateway.reload([]);
    await failed;
    await expect.poll(() => isAlive(pid), pollOptions).toBe(false);
    await expect.poll(() => objectsOf(gateway), pollOptions).toEqual([0, 0]);
  });

  const ask = {
    method: "elicitation/create",
    params: { mode: "form", message: "Continue?", requestedSchema: form },
  } as const;
  const serveAsking = () =>
    serveModern(() => {
      const server = new McpServer({ name: "asking", version: "1" }, { capabilities: { tools: {} } });
      server.registerTool("ask", { inputSchema: z.object({}) }, () => inputRequired({ inputRequests: { ask } }));
      return server;
    });

  test.each([
    ["legacy", "stdio", async () => pipes],
    ["modern", "stdio", async () => pipes],
    ["legacy", "modern HTTP", async () => ({ type: "http", url: await serveAsking() })],
  ] as const)(
    "fails a late call with the reason even while a %s client handles a request from a %s server",
    async (mode, _, entry) => {
      const gateway = await startTestGateway({ slow: await entry() }, { limits });
      const isEnded = () => gateway.events.some((event) => event.kind === "call" && event.outcome === "error");
      const asked = deferred();
      const client = await connect(gateway, mode, eliciting, (prepared) =>
        prepared.setRequestHandler("elicitation/create", async () => {
          asked.resolve();
          await expect.poll(isEnded, pollOptions).toBe(true);
          return { action: "accept", content: {} };
        }),
      );
      const failed = expect(client.callTool(call("slow__ask"))).rejects.toThrow(notDrained);
      await asked.promise;
      await gateway.gateway.reload([configurationOf({ slow: { ...pipes, env: { NEW: "1" } } })]);
      await failed;
    },
  );
});

test("closes draining servers with the gateway, and leaves neither object nor process", async () => {
  const old = await serveHolding("old", "legacy");
  const gateway = await startTestGateway({ hold: old.entry, pipes }, { limits: slowLists });
  const client = await connect(gateway, "legacy");
  const pid = Number(textOf(await client.callTool(call("pipes__pid"))));
  const calls = [client.callTool(call("hold__hold")), client.callTool(call("pipes__never"))];
  const ended = calls.map((one) => expect(one).rejects.toThrow());
  await expect
    .poll(() => gateway.gateway.servers().map(({ callsInFlight }) => callsInFlight), pollOptions)
    .toEqual([1, 1]);
  await gateway.gateway.reload([]);
  expect(objectsOf(gateway)).toEqual([2, 2]);
  await gateway.gateway.close({ graceMs: 10 });
  await Promise.all(ended);
  const { channels, subchannels, servers, sockets } = gateway.gateway.registry.size;
  expect([channels, subchannels, servers, sockets]).toEqual([0, 0, 0, 0]);
  expect(isAlive(pid)).toBe(false);
});

const notCalled = /"late" was just changed or removed in the configuration, and was not called\. Call again\.$/;

describe.each([
  ["reads a page meanwhile", true],
  ["has no other call", false],
])("during a reload, a call that waits for the list of a server that %s", (_, hasReading) => {
  /** Starts a gateway with a server that delays its list of tools, and a call that looks up a tool there. */
  async function startLookup() {
    const [isListed, isRead] = [deferred(), deferred()];
    let reads = 0;
    const listener = modernListener(() => {
      const server = new McpServer({ name: "late", version: "1" }, { capabilities: { tools: {}, resources: {} } });
      server.registerTool("hello", { inputSchema: z.object({}) }, () => ({ content: [] }));
      server.registerResource("page", "late://page", {}, async () => {
        reads += 1;
        await isRead.promise;
        return { contents: [{ uri: "late://page", text: "read" }] };
      });
      return server;
    });
    let lists = 0;
    const port = await serve(async (request, response) => {
      if (request.headers["mcp-method"] === "tools/list") {
        lists += 1;
        await isListed.promise;
      }
      listener(request, response);
    });
    const gateway = await startTestGateway(
      { late: { type: "http", url: `http://127.0.0.1:${port}/mcp` } },
      { limits: slowLists },
    );
    const client = await connect(gateway, "legacy");
    const reading = hasReading ? client.readResource({ uri: "late://page" }) : undefined;
    const expectedReads = hasReading ? 1 : 0;
    await expect.poll(() => [reads, lists], pollOptions).toEqual([expectedReads, 1]);
    const calling = client.callTool(call("late__hello"));
    calling.catch(() => {});
    await expect.poll(() => metricInFlight(gateway), pollOptions).toBe(expectedReads + 1);
    const finishReading = async (): Promise<void> => {
      isRead.resolve();
      if (hasReading) expect(await reading).toMatchObject({ contents: [{ text: "read" }] });
    };
    return { gateway, calling, isListed, finishReading };
  }

  test.each(["changed", "removed"])("fails with a request to call again if the server is %s", async (how) => {
    const { gateway, calling, isListed, finishReading } = await startLookup();
    const url = await serveModern(makeEcho("new"));
    await gateway.gateway.reload(how === "changed" ? [configurationOf({ late: { type: "http", url } })] : []);
    isListed.resolve();
    await expect(calling).rejects.toThrow(notCalled);
    await finishReading();
  });
});

describe("during a reload, a request that waits for a server that never connects", () => {
  const uri = "late://page";
  const requests: readonly (readonly [string, (client: Client) => Promise<object>])[] = [
    ["tools/call", (client) => client.callTool(call("late__hello"))],
    ["prompts/get", (client) => client.getPrompt({ name: "late__greet", arguments: { who: "n" } })],
    ["resources/read that names the server", (client) => client.readResource({ uri: prefixedUri("late", uri) })],
    [
      "completion/complete",
      (client) =>
        client.complete({ ref: { type: "ref/prompt", name: "late__greet" }, argument: { name: "who", value: "n" } }),
    ],
  ];

  async function startWaiting(request: (client: Client) => Promise<object>) {
    const port = await serve(() => {});
    const entry = { type: "http", url: `http://127.0.0.1:${port}/mcp` };
    const gateway = await startTestGateway({ late: entry }, { limits: slowLists });
    const waiting = request(await connect(gateway, "legacy"));
    waiting.catch(() => {});
    await expect.poll(() => metricInFlight(gateway), pollOptions).toBe(1);
    return { gateway, waiting };
  }

  const serveNew = () =>
    serveModern(() => {
      const server = new McpServer({ name: "new", version: "1" });
      server.registerResource("page", uri, {}, () => ({ contents: [{ uri, text: "new" }] }));
      return server;
    });

  test.each(requests)("%s fails at once with a request to call again", async (_, request) => {
    for (const how of ["changed", "removed"]) {
      const { gateway, waiting } = await startWaiting(request);
      const after = how === "changed" ? { late: { type: "http", url: await serveNew() } } : {};
      await gateway.gateway.reload([configurationOf(after)]);
      await expect(waiting).rejects.toThrow(notCalled);
    }
  });

  test("resources/read of a URI that names no server looks for it on the servers after the reload", async () => {
    const changed = await startWaiting((client) => client.readResource({ uri }));
    await changed.gateway.gateway.reload([configurationOf({ late: { type: "http", url: await serveNew() } })]);
    expect(await changed.waiting).toMatchObject({ contents: [{ text: "new" }] });
    const removed = await startWaiting((client) => client.readResource({ uri }));
    await removed.gateway.gateway.reload([]);
    await expect(removed.waiting).rejects.toThrow(/^No server lists the resource "late:\/\/page"\.$/);
  });
});

async function metricInFlight({ url, token }: TestGateway): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
  return Number(/^wirescope_gateway_calls_in_flight (\d+)$/m.exec(text)?.[1]);
}
