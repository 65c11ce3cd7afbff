import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  ProgressNotificationSchema,
  TaskStatusNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  configurationOf,
  connectOld,
  pollOptions,
  startTestGateway,
  type TestGateway,
  textOf,
} from "./gateway.test.helper.js";
import { serveRaw } from "./raw-server.test.helper.js";
import {
  modernMeta,
  type Received,
  request,
  serveTasks,
  subscribe,
  tasksExtension,
} from "./task-servers.test.helper.js";
import { everything } from "./tool-servers.test.helper.js";

/** The response to `initialize` of a legacy server with tasks. */
const legacyTasks =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"raw","version":"1"}}';

const reference = { type: "stdio", command: process.execPath, args: [everything] };

/** A port that proxies to a server; while it is away, connections are closed. */
function createProxy(target: string, isAway: () => boolean): { readonly url: Promise<string>; disconnect(): void } {
  const { port } = new URL(target);
  const open = new Set<Socket>();
  const front = createServer((socket) => {
    if (isAway()) {
      socket.destroy();
      return;
    }
    const back = createConnection(Number(port), "127.0.0.1");
    open.add(socket);
    for (const [one, other] of [
      [socket, back],
      [back, socket],
    ] as const) {
      one.on("error", () => {}).on("close", () => other.destroy());
      one.pipe(other);
    }
    socket.once("close", () => open.delete(socket));
  });
  const disconnect = (): void => {
    for (const socket of open) socket.destroy();
  };
  onTestFinished(() => {
    disconnect();
    front.close();
  });
  const url = new Promise<string>((resolve) =>
    front.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`)),
  );
  return { url, disconnect };
}

/** Waits until the gateway offers a tool. */
async function offered(gateway: TestGateway, name: string): Promise<void> {
  await expect
    .poll(async () => JSON.stringify((await request(gateway, "tools/list", {})).result?.tools), pollOptions)
    .toContain(JSON.stringify(name));
}

/** Creates a task with a modern client. */
async function createTask(gateway: TestGateway, name: string, options: { token?: string } = {}): Promise<string> {
  const { result, error } = await request(gateway, "tools/call", { name, arguments: {} }, options);
  expect(error).toBeUndefined();
  expect(result?.resultType).toBe("task");
  return String(result?.taskId);
}

describe("tasks of modern servers [TS-D-EXT-2]", () => {
  test("tasks of two servers with the same id have different ids, and each request reaches the server that has the task", async () => {
    const [one, two] = [await serveTasks({ nextId: () => "same" }), await serveTasks({ nextId: () => "same" })];
    const gateway = await startTestGateway({
      one: { type: "http", url: one.url },
      two: { type: "http", url: two.url },
    });
    await offered(gateway, "one__work");
    await offered(gateway, "two__work");
    const [first, second] = [await createTask(gateway, "one__work"), await createTask(gateway, "two__work")];
    expect(first).not.toBe(second);
    Object.assign(one.tasks.get("same") ?? {}, { status: "completed", result: { content: [] } });

    const state = await request(gateway, "tasks/get", { taskId: first });
    expect(state.result).toMatchObject({ resultType: "complete", taskId: first, status: "completed" });
    expect((await request(gateway, "tasks/cancel", { taskId: second })).result).toMatchObject({
      resultType: "complete",
    });

    expect(one.seen).toEqual(["tasks/get same"]);
    expect(two.seen).toEqual(["tasks/cancel same"]);
    expect(two.tasks.get("same")?.status).toBe("cancelled");
  });

  test("a client cannot read, update or cancel a task of another client", async () => {
    const server = await serveTasks({ nextId: () => "secret" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } }, { listen: { token: false } });
    await offered(gateway, "one__work");
    const taskId = await createTask(gateway, "one__work", { token: "alice" });
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      for (const id of [taskId, "secret"]) {
        const { error } = await request(gateway, method, { taskId: id, inputResponses: {} }, { token: "mallory" });
        expect(error?.code).toBe(-32_602);
      }
    }
    expect(server.seen).toEqual([]);
    expect((await request(gateway, "tasks/get", { taskId }, { token: "alice" })).result?.status).toBe("working");
  });

  test("a task is still available after the server has been away and the gateway has connected again", async () => {
    const server = await serveTasks({ nextId: () => "kept" });
    let isAway = false;
    const front = createProxy(server.url, () => isAway);
    const gateway = await startTestGateway({ one: { type: "http", url: await front.url } });
    await offered(gateway, "one__work");
    const taskId = await createTask(gateway, "one__work");
    isAway = true;
    front.disconnect();
    await expect
      .poll(async () => (await request(gateway, "tasks/get", { taskId })).error?.message, pollOptions)
      .toBeDefined();
    isAway = false;
    await expect
      .poll(async () => (await request(gateway, "tasks/get", { taskId })).result, pollOptions)
      .toMatchObject({ taskId, status: "working" });
    expect((await request(gateway, "tasks/cancel", { taskId })).error).toBeUndefined();
    expect(server.tasks.get("kept")?.status).toBe("cancelled");
  });

  test("a server that returns the id of another client's task gives neither client access to the other's task", async () => {
    const server = await serveTasks({ nextId: () => "fixed" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } }, { listen: { token: false } });
    await offered(gateway, "one__work");
    await createTask(gateway, "one__work", { token: "alice" });
    const { error } = await request(gateway, "tools/call", { name: "one__work" }, { token: "mallory" });
    expect(error?.message).toContain("belongs to another client");
  });

  test("task methods require the extension, and a task that was not requested is an error", async () => {
    const server = await serveTasks({ nextId: () => "t", isStubborn: true });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } });
    await offered(gateway, "one__work");
    const refused = await request(gateway, "tasks/get", { taskId: "t" }, { capabilities: {} });
    expect(refused).toMatchObject({
      status: 400,
      error: { code: -32_021, data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } } },
    });
    const filter = { notifications: { taskIds: ["t"] } };
    const unheard = await request(gateway, "subscriptions/listen", filter, { capabilities: {} });
    expect(unheard).toMatchObject({ status: 400, error: { code: -32_021 } });
    const { error } = await request(gateway, "tools/call", { name: "one__work" }, { capabilities: {} });
    expect(error?.message).toContain("which the client does not support");
  });

  test("the header of a request about a task must name the task", async () => {
    const server = await serveTasks({ nextId: () => "t" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } });
    await offered(gateway, "one__work");
    const taskId = await createTask(gateway, "one__work");
    expect((await request(gateway, "tasks/get", { taskId }, { name: "other" })).error?.code).toBe(-32_020);
  });

  test("a client of SDK 1.x calls a tool as a task and responds to its request", async () => {
    const server = await serveTasks({ nextId: () => "t" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } });
    await offered(gateway, "one__work");
    const client = await connectOld(gateway, { elicitation: { form: {} } }, (made) =>
      made.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } })),
    );
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "one__work")?.execution).toEqual({ taskSupport: "optional" });
    const params = { name: "one__work", arguments: {} };
    const stream = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: {} });
    const kinds: string[] = [];
    let result: object = {};
    for await (const message of stream) {
      kinds.push(message.type);
      if (message.type === "taskCreated") {
        const name = { method: "elicitation/create", params: { mode: "form", message: "Who?", requestedSchema: form } };
        Object.assign(server.tasks.get("t") ?? {}, { status: "input_required", inputRequests: { name } });
      }
      if (message.type === "result") ({ result } = message);
    }
    expect(textOf(result)).toBe("Hello Ada");
    expect(kinds[0]).toBe("taskCreated");
    expect((await client.experimental.tasks.listTasks()).tasks).toMatchObject([{ status: "completed" }]);
  });

  test("a legacy client that waits for a result gets it after a reload replaced the server, and is not asked again", async () => {
    const server = await serveTasks({ nextId: () => "t", pollIntervalMs: 1000 });
    const entry = { type: "http", url: server.url };
    const gateway = await startTestGateway({ one: entry });
    await offered(gateway, "one__work");
    let asked = 0;
    const client = await connectOld(gateway, { elicitation: { form: {} } }, (made) =>
      made.setRequestHandler(ElicitRequestSchema, () => {
        asked += 1;
        return { action: "accept", content: { name: "Ada" } };
      }),
    );
    const params = { name: "one__work", arguments: {}, task: {} };
    const { task } = await client.request({ method: "tools/call", params }, CreateTaskResultSchema);
    // The server lists its request until it ends the task.
    let status = "input_required";
    const question = { method: "elicitation/create", params: { mode: "form", message: "Who?", requestedSchema: form } };
    Object.defineProperties(server.tasks.get("t"), {
      status: { enumerable: true, get: () => status, set() {} },
      inputRequests: { enumerable: true, value: { name: question } },
    });
    const waiting = client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
    waiting.catch(() => {});
    const callsInFlight = () => gateway.gateway.servers()[0]?.callsInFlight;
    const polled = ["tasks/get t", "tasks/update t", "tasks/get t"];
    await expect.poll(() => [server.seen, callsInFlight()], pollOptions).toEqual([polled, 0]);
    await gateway.gateway.reload([configurationOf({ one: { ...entry, headers: { "x-new": "1" } } })]);
    await expect.poll(() => server.seen.length, pollOptions).toBeGreaterThan(polled.length);
    status = "completed";
    expect(textOf(await waiting)).toBe("Hello Ada");
    expect(asked).toBe(1);
  });

  test.each([
    ["asks without end", "", "sent more than the maximum of 100 input requests in one task"],
    ["uses a long key", "x".repeat(2000), "used a key of more than 1024 characters in one task"],
  ])("ends the call of a legacy client if the task of a server %s", async (_, key, failure) => {
    const server = await serveTasks({ nextId: () => "t" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } });
    await offered(gateway, "one__work");
    const client = await connectOld(gateway, { elicitation: { form: {} } }, (made) =>
      made.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } })),
    );
    await client.listTools();
    const question = {
      method: "elicitation/create",
      params: { mode: "form", message: "Who?", requestedSchema: form },
    };
    let asked = 0;
    const params = { name: "one__work", arguments: {} };
    const stream = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: {} });
    let failed: { message: string } | undefined;
    for await (const message of stream) {
      if (message.type === "taskCreated") {
        // New input requests in each state, whatever the client responds.
        const inputRequests = (): object => {
          asked += 20;
          return Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${key}${asked + index}`, question]));
        };
        Object.defineProperties(server.tasks.get("t"), {
          status: { enumerable: true, get: () => "input_required", set() {} },
          inputRequests: { enumerable: true, get: inputRequests, set() {} },
        });
      }
      if (message.type === "error") failed = message.error;
    }
    expect(failed?.message).toContain(failure);
  });

  test("a legacy client that requests a task gets one even if the server responds at once", async () => {
    const server = await serveTasks({ nextId: () => "t" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } });
    await offered(gateway, "one__now");
    const client = await connectOld(gateway);
    await client.listTools();
    const stream = client.experimental.tasks.callToolStream({ name: "one__now" }, CallToolResultSchema, { task: {} });
    const messages: { type: string; result?: object }[] = [];
    for await (const message of stream) messages.push(message);
    expect(messages[0]?.type).toBe("taskCreated");
    expect(textOf(messages.at(-1)?.result ?? {})).toBe("now");
  });
});

describe("subscriptions to tasks of modern servers [TS-D-EXT-13]", () => {
  test("notifies only the client that owns a task of its state, with the client's id", async () => {
    const ids = ["of alice", "of bob"];
    const server = await serveTasks({ nextId: () => ids.shift() ?? "" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } }, { listen: { token: false } });
    await offered(gateway, "one__work");
    const alices = await createTask(gateway, "one__work", { token: "alice" });
    const bobs = await createTask(gateway, "one__work", { token: "bob" });
    const all = { taskIds: [alices, bobs, "of alice", "of bob"] };
    const alice = await subscribe(gateway, all, { token: "alice" });
    const bob = await subscribe(gateway, all, { token: "bob" });
    const mallory = await subscribe(gateway, all, { token: "mallory" });
    await expect.poll(() => mallory.received.at(-1)?.result, pollOptions).toMatchObject({ resultType: "complete" });
    expect(mallory.received[0]?.params?.notifications).toEqual({});
    await expect.poll(() => alice.received[0]?.params?.notifications, pollOptions).toEqual({ taskIds: [alices] });
    await expect.poll(() => bob.received[0]?.params?.notifications, pollOptions).toEqual({ taskIds: [bobs] });

    const result = { content: [{ type: "text", text: "done" }] };
    Object.assign(server.tasks.get("of alice") ?? {}, { status: "completed", result });
    server.notify("of alice");
    server.notify("of bob");
    await expect
      .poll(() => bob.received[1], pollOptions)
      .toMatchObject({ params: { taskId: bobs, status: "working" } });
    await expect
      .poll(() => alice.received[1], pollOptions)
      .toMatchObject({ method: "notifications/tasks", params: { taskId: alices, status: "completed", result } });
    expect(alice.received[1]?.params?._meta).toEqual({ "io.modelcontextprotocol/subscriptionId": 1 });
    const everything = JSON.stringify([...alice.received, ...bob.received]);
    expect(everything).not.toContain("of alice");
    expect(JSON.stringify(bob.received)).not.toContain(alices);
    expect(JSON.stringify(mallory.received)).not.toContain("notifications/tasks");
  });

  test("sends a state that arrives at once after the acknowledgement, and unsubscribes from the server when the client disconnects", async () => {
    const ids = ["first", "t"];
    const server = await serveTasks({ nextId: () => ids.shift() ?? "" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } });
    await offered(gateway, "one__work");
    const first = await subscribe(gateway, { taskIds: [await createTask(gateway, "one__work")] });
    await expect.poll(() => first.received.length, pollOptions).toBe(1);
    const taskId = await createTask(gateway, "one__work");
    Object.assign(server.tasks.get("t") ?? {}, { status: "cancelled" });
    const client = await subscribe(gateway, { taskIds: [taskId] });
    await expect.poll(() => client.received.length, pollOptions).toBe(2);
    expect(client.received).toMatchObject([
      { method: "notifications/subscriptions/acknowledged", params: { notifications: { taskIds: [taskId] } } },
      { method: "notifications/tasks", params: { taskId, status: "cancelled" } },
    ]);
    await expect.poll(server.listening, pollOptions).toEqual([["first", "t"]]);
    await client.close();
    await expect.poll(server.listening, pollOptions).toEqual([["first"]]);
    await first.close();
    await expect.poll(server.listening, pollOptions).toEqual([]);
  });

  test("a client that subscribes over stdio gets the latest state of its task, and not every repeated one", async () => {
    const server = await serveTasks({ nextId: () => "t" });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } });
    await offered(gateway, "one__work");
    const [input, output] = [new PassThrough(), new PassThrough()];
    gateway.gateway.serveStdio(input, output);
    const received: Received[] = [];
    createInterface({ input: output }).on("line", (line) => received.push(JSON.parse(line)));
    const ask = (id: number, method: string, params: object): void => {
      input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: modernMeta() } })}\n`);
    };
    ask(1, "tools/call", { name: "one__work", arguments: {} });
    await expect.poll(() => received[0]?.result?.resultType, pollOptions).toBe("task");
    const taskId = received[0]?.result?.taskId;
    ask(2, "subscriptions/listen", { notifications: { taskIds: [taskId] } });
    await expect.poll(() => received[1]?.params?.notifications, pollOptions).toEqual({ taskIds: [taskId] });

    const repeated = 500;
    for (let count = 0; count < repeated; count += 1) server.notify("t");
    Object.assign(server.tasks.get("t") ?? {}, { status: "cancelled" });
    server.notify("t");
    await expect
      .poll(() => received.at(-1), pollOptions)
      .toMatchObject({
        method: "notifications/tasks",
        params: { taskId, status: "cancelled", _meta: { "io.modelcontextprotocol/subscriptionId": 2 } },
      });
    expect(received.length).toBeLessThan(repeated / 2);
  });

  test("a task whose server refuses the subscription is not acknowledged, and the rest of the filter is", async () => {
    const server = await serveTasks({ nextId: () => "t", refusesListening: true });
    const gateway = await startTestGateway({ one: { type: "http", url: server.url } });
    await offered(gateway, "one__work");
    const taskId = await createTask(gateway, "one__work");
    const client = await subscribe(gateway, { taskIds: [taskId], toolsListChanged: true });
    await expect.poll(() => client.received[0]?.params?.notifications, pollOptions).toEqual({ toolsListChanged: true });
    const { error } = await request(gateway, "subscriptions/listen", { notifications: { taskIds: "t" } });
    expect(error?.code).toBe(-32_602);
  });
});

const form = { type: "object" as const, properties: { name: { type: "string" as const } } };

describe("tasks of legacy servers [TS-D-EXT-3]", () => {
  test("clients of SDK 1.x and modern clients run the reference server's task and respond to its request", async () => {
    const gateway = await startTestGateway({ ref: reference });
    await offered(gateway, "ref__simulate-research-query");
    const runInOldClient = async (): Promise<void> => {
      const client = await connectOld(gateway, { elicitation: { form: {} } }, (made) =>
        made.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          expect(params._meta?.["io.modelcontextprotocol/related-task"]).toBeDefined();
          return { action: "accept", content: { interpretation: "technical" } };
        }),
      );
      await client.listTools();
      const params = { name: "ref__simulate-research-query", arguments: { topic: "python", ambiguous: true } };
      const stream = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 } });
      const messages: { type: string; result?: object }[] = [];
      for await (const message of stream) messages.push(message);
      expect(messages[0]?.type).toBe("taskCreated");
      expect(messages.at(-1)?.type).toBe("result");
      expect(textOf(messages.at(-1)?.result ?? {})).toContain("python");
    };
    const runInModernClient = async (): Promise<void> => {
      const capabilities = { elicitation: { form: {} }, extensions: { [tasksExtension]: {} } };
      const params = { name: "ref__simulate-research-query", arguments: { topic: "python", ambiguous: true } };
      const created = await request(gateway, "tools/call", params, { capabilities });
      expect(created.result).toMatchObject({ resultType: "task", status: "working" });
      const taskId = created.result?.taskId;
      let state: Record<string, unknown> = {};
      const getStatus = async (): Promise<unknown> => {
        state = (await request(gateway, "tasks/get", { taskId }, { capabilities })).result ?? {};
        return state.status;
      };
      // The task takes several seconds.
      const slowPoll = { ...pollOptions, interval: 200 };
      await expect.poll(getStatus, slowPoll).toBe("input_required");
      const [key = ""] = Object.keys(state.inputRequests as object);
      const inputResponses = { [key]: { action: "accept", content: { interpretation: "technical" } } };
      const updated = await request(gateway, "tasks/update", { taskId, inputResponses }, { capabilities });
      expect(updated.result).toMatchObject({ resultType: "complete" });
      await expect.poll(getStatus, slowPoll).toBe("completed");
      expect(textOf(state.result as object)).toContain("python");
      expect(JSON.stringify(state.result)).not.toContain("related-task");
    };
    await Promise.all([runInOldClient(), runInModernClient()]);
  });

  test("notifies only the session that owns a task of its status, with the client's id", async () => {
    const state =
      '"status":"working","createdAt":"2026-11-16T12:00:00Z","lastUpdatedAt":"2026-11-16T12:00:00Z","ttl":60000';
    const server = await serveRaw({
      initialize: () => legacyTasks,
      "tools/list": () =>
        '{"tools":[{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}',
      "tools/call": () => `{"content":[],"task":{"taskId":"t1",${state}}}`,
    });
    const gateway = await startTestGateway({ raw: server.entry });
    await offered(gateway, "raw__job");
    const notified: { readonly who: string; readonly taskId: string; readonly status: string }[] = [];
    const listen =
      (who: string) =>
      (client: Awaited<ReturnType<typeof connectOld>>): void =>
        client.setNotificationHandler(TaskStatusNotificationSchema, ({ params: { taskId, status } }) => {
          notified.push({ who, taskId, status });
        });
    const owner = await connectOld(gateway, {}, listen("owner"));
    await connectOld(gateway, {}, listen("other"));
    await owner.listTools();
    const created = await owner.request(
      { method: "tools/call", params: { name: "raw__job", task: {} } },
      CreateTaskResultSchema,
    );
    const notification = `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t1",${state.replace("working", "completed")}}}`;
    await expect
      .poll(() => {
        server.say(notification);
        return notified.length;
      }, pollOptions)
      .toBeGreaterThan(0);
    expect(notified[0]).toEqual({ who: "owner", taskId: created.task.taskId, status: "completed" });
    expect(notified.some(({ who }) => who === "other")).toBe(false);
  });

  test("[TS-D-EXT-14] forwards a task's progress to the session that created it, even after the response", async () => {
    const server = await serveRaw({
      initialize: () => legacyTasks,
      "tools/list": () =>
        '{"tools":[{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}',
      "tools/call": () =>
        '{"content":[],"task":{"taskId":"t1","status":"working","createdAt":"2026-11-16T12:00:00Z","lastUpdatedAt":"2026-11-16T12:00:00Z","ttl":60000}}',
    });
    const gateway = await startTestGateway({ raw: server.entry });
    await offered(gateway, "raw__job");
    const notified: { readonly who: string; readonly params: unknown }[] = [];
    const listen =
      (who: string) =>
      (client: Awaited<ReturnType<typeof connectOld>>): void =>
        client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => void notified.push({ who, params }));
    const owner = await connectOld(gateway, {}, listen("owner"));
    await connectOld(gateway, {}, listen("other"));
    await owner.listTools();
    await owner.request(
      { method: "tools/call", params: { name: "raw__job", task: {}, _meta: { progressToken: "mine" } } },
      CreateTaskResultSchema,
    );
    const sent = server.seen.find(({ method }) => method === "tools/call")?.params?._meta;
    const { progressToken } = sent as { readonly progressToken: number };
    await expect
      .poll(() => {
        server.say(
          `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${progressToken},"progress":3,"total":5}}`,
        );
        return notified;
      }, pollOptions)
      .toContainEqual({ who: "owner", params: { progressToken: "mine", progress: 3, total: 5 } });
    expect(notified.some(({ who }) => who === "other")).toBe(false);
  });

  test("a modern client gets the state of a task in its own form while the legacy server reconnects", async () => {
    const times = '"createdAt":"2026-11-16T12:00:00Z","lastUpdatedAt":"2026-11-16T12:00:00Z","ttl":60000';
    let sessions = 0;
    let hasForgotten = false;
    let reopen: (() => void) | undefined;
    const server = await serveRaw({
      initialize({ id }, response) {
        sessions += 1;
        if (sessions === 1) return legacyTasks;
        reopen = () =>
          response
            .writeHead(200, { "content-type": "application/json", "mcp-session-id": "again" })
            .end(`{"jsonrpc":"2.0","id":${id},"result":${legacyTasks}}`);
        return undefined;
      },
      "tools/list": () =>
        '{"tools":[{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}',
      "tools/call": () => `{"content":[],"task":{"taskId":"t1","status":"working",${times}}}`,
      "tasks/cancel"(_, response) {
        hasForgotten = true;
        response.writeHead(404).end();
        return undefined;
      },
      ping(_, response) {
        if (!hasForgotten) return "{}";
        response.writeHead(404).end();
        return undefined;
      },
      "tasks/get": () => `{"taskId":"t1","status":"working",${times}}`,
    });
    const gateway = await startTestGateway({ raw: server.entry });
    await offered(gateway, "raw__job");
    const taskId = await createTask(gateway, "raw__job");
    const cancelled = request(gateway, "tasks/cancel", { taskId });
    await expect.poll(() => [hasForgotten, reopen !== undefined], pollOptions).toEqual([true, true]);
    const asked = request(gateway, "tasks/get", { taskId });
    await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBeGreaterThan(0);
    reopen?.();
    const { result, error } = await asked;
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ taskId, status: "working", ttlMs: 60_000 });
    await cancelled;
  });

  test("refuses a modern client without the extension a tool that requires a task", async () => {
    const server = await serveRaw({
      initialize: () => legacyTasks,
      "tools/list": () =>
        '{"tools":[{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}',
    });
    const gateway = await startTestGateway({ raw: server.entry });
    await offered(gateway, "raw__job");
    const refused = await request(gateway, "tools/call", { name: "raw__job" }, { capabilities: {} });
    expect(refused).toMatchObject({ status: 400, error: { code: -32_021 } });
    expect(server.seen.some(({ method }) => method === "tools/call")).toBe(false);
  });
});
