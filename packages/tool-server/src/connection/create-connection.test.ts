import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ConnectionInfo } from "../connection-info.js";
import { channelPrefix, type StateChange } from "../diagnostics.js";
import type { ToolServerError } from "../errors.js";
import { failureOf } from "../failure-of.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import type { ConnectionOptions } from "./create-connection.js";
import {
  createMemoryConnection,
  createMemoryServer,
  type MemoryConnection,
  transportFailure,
} from "./memory-server.test.helper.js";

interface Setting extends MemoryConnection {
  readonly states: string[];
}

function setUp(options: Partial<ConnectionOptions> & { startFailure?: ToolServerError } = {}): Setting {
  const server = createMemoryServer();
  server.startFailure = options.startFailure;
  const states: string[] = [];
  const onState = (message: unknown): void => {
    const { subject, state } = message as StateChange<ConnectionInfo>;
    if (subject === server.info) states.push(state);
  };
  subscribe(`${channelPrefix}connection:state`, onState);
  onTestFinished(() => void unsubscribe(`${channelPrefix}connection:state`, onState));
  return { ...createMemoryConnection(options, server), states };
}

const echo = (text: string) => ({ name: "echo", arguments: { text } });

describe("connecting", () => {
  test("connects at the first call, and is idle until then", async () => {
    const { server, connection, states } = setUp();
    expect([connection.state, server.opened]).toEqual(["IDLE", 0]);
    expect((await connection.callTool(echo("hello"))).content).toEqual([{ type: "text", text: "hello" }]);
    expect(connection.server?.name).toBe("memory");
    expect(states).toEqual(["CONNECTING", "READY"]);
  });

  test("[TS-D-CONN-1] says that a call was not sent if the handshake before it failed", async () => {
    const { connection } = setUp({ startFailure: transportFailure("CHILD_EXITED", true) });
    expect(await failureOf(connection.callTool(echo("hello")))).toMatchObject({
      code: "CHILD_EXITED",
      details: { wasSent: false },
    });
  });

  test("reports each change of its state to its listeners, also if one of them throws, until they are removed", async () => {
    const { connection } = setUp();
    const states: string[] = [];
    connection.onState(() => {
      throw new Error("a listener that fails");
    });
    const stop = connection.onState(({ state }) => void states.push(state));
    await connection.connect();
    expect(states).toEqual(["CONNECTING", "READY"]);
    stop();
    await connection.close();
    expect(states).toEqual(["CONNECTING", "READY"]);
  });

  test("connects at once if it is eager", async () => {
    const { connection } = setUp({ isEager: true });
    expect(connection.state).toBe("CONNECTING");
    await connection.connect();
    expect(connection.state).toBe("READY");
  });

  test("connects once if a listener of its state connects too", async () => {
    const { server, clock, connection } = setUp({ isEager: true, backOff: { firstMs: 100, maxMs: 400 } });
    await connection.connect();
    clock.advance(401);
    const reconnected: Promise<unknown>[] = [];
    connection.onState(({ state }) => {
      if (state === "IDLE") reconnected.push(connection.connect());
    });
    server.die(transportFailure("CONNECTION_LOST", true));
    await expect.poll(() => reconnected.length, waiting).toBe(1);
    await reconnected[0];
    expect([connection.state, server.opened]).toEqual(["READY", 2]);
  });

  test("shares one connection among concurrent calls", async () => {
    const { server, connection } = setUp();
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => connection.callTool(echo(`${index}`))),
    );
    expect(responses.map(({ content }) => content[0])).toEqual(
      Array.from({ length: 50 }, (_, index) => ({ type: "text", text: `${index}` })),
    );
    expect(server.opened).toBe(1);
  });

  test("rejects a caller that gives up while it connects, and connects for the others", async () => {
    const { connection } = setUp();
    const controller = new AbortController();
    const given = connection.callTool(echo("a"), { signal: controller.signal });
    const kept = connection.callTool(echo("b"));
    const cause = new Error("The user left.");
    controller.abort(cause);
    expect(await failureOf(given)).toMatchObject({ code: "CALL_CANCELLED", cause, details: { wasSent: false } });
    expect((await kept).content).toEqual([{ type: "text", text: "b" }]);
  });
});

describe("a server that cannot be reached", () => {
  test("fails the call with the message of the transport", async () => {
    const { server, connection, states } = setUp();
    server.startFailure = transportFailure("SERVER_UNREACHABLE", false);
    expect((await failureOf(connection.connect())).code).toBe("SERVER_UNREACHABLE");
    expect(connection.state).toBe("TRANSIENT_FAILURE");
    expect(states).toEqual(["CONNECTING", "TRANSIENT_FAILURE"]);
  });

  test("retries after delays that double up to a limit, and start over after a connection that lasted", async () => {
    const { server, clock, connection } = setUp({
      isEager: true,
      backOff: { firstMs: 100, maxMs: 400 },
      startFailure: transportFailure("SERVER_UNREACHABLE", false),
    });
    const settled = async (): Promise<void> => {
      await expect.poll(() => connection.state, waiting).toBe("TRANSIENT_FAILURE");
    };
    await settled();
    for (const [pause, opened] of [
      [100, 2],
      [200, 3],
      [400, 4],
      [400, 5],
    ] as const) {
      clock.advance(pause - 1);
      expect(server.opened).toBe(opened - 1);
      clock.advance(1);
      await expect.poll(() => server.opened, waiting).toBe(opened);
      await settled();
    }
    server.startFailure = undefined;
    clock.advance(400);
    await connection.callTool(echo("again"));
    clock.advance(401);
    server.startFailure = transportFailure("SERVER_UNREACHABLE", false);
    const before = server.opened;
    server.die(transportFailure("CONNECTION_LOST", true));
    await settled();
    expect(server.opened).toBe(before + 1);
    clock.advance(100);
    await expect.poll(() => server.opened, waiting).toBe(before + 2);
  });

  test("fails a call during a long pause at once, and says when the next attempt is", async () => {
    const { server, clock, connection } = setUp({ backOff: { firstMs: 8000, maxMs: 8000 } });
    server.startFailure = transportFailure("SERVER_UNREACHABLE", false);
    await failureOf(connection.connect());
    const error = await failureOf(connection.ping());
    expect(error.message).toContain("It is tried again with the first call after 8 s.");
    expect(server.opened).toBe(1);
    server.startFailure = undefined;
    clock.advance(8000);
    await connection.ping();
    expect(connection.state).toBe("READY");
  });

  test("says that it retries without a call only if it does", async () => {
    const { server, clock, connection } = setUp({
      isEager: true,
      backOff: { firstMs: 8000, maxMs: 8000 },
      startFailure: transportFailure("SERVER_UNREACHABLE", false),
    });
    await expect.poll(() => connection.state, waiting).toBe("TRANSIENT_FAILURE");
    expect((await failureOf(connection.ping())).message).toContain("It is tried again in 8 s.");
    server.startFailure = undefined;
    clock.advance(8000);
    await expect.poll(() => connection.state, waiting).toBe("READY");
  });

  test("[TS-D-CONN-3] retries failures that only a user can fix after delays that are ten times as long", async () => {
    const { server, clock, connection } = setUp({
      isEager: true,
      startFailure: transportFailure("UNAUTHORIZED", true),
    });
    for (const [round, delayMs] of [5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000].entries()) {
      await expect.poll(() => connection.state, waiting).toBe("TRANSIENT_FAILURE");
      clock.advance(delayMs - 1);
      expect([connection.state, server.opened]).toEqual(["TRANSIENT_FAILURE", round + 1]);
      clock.advance(1);
      await expect.poll(() => server.opened, waiting).toBe(round + 2);
    }
    await expect.poll(() => connection.state, waiting).toBe("TRANSIENT_FAILURE");
    server.startFailure = undefined;
    clock.advance(300_000);
    await expect.poll(() => connection.state, waiting).toBe("READY");
  });
});

describe("a connection that is lost", () => {
  test("stops showing a lost connection as ready, and opens it again at the next call", async () => {
    const { server, clock, connection, states } = setUp();
    await connection.ping();
    clock.advance(30_001);
    server.die(transportFailure("CHILD_EXITED", true));
    await expect.poll(() => connection.state, waiting).toBe("IDLE");
    expect(connection.server).toBeUndefined();
    expect((await connection.callTool(echo("back"))).content).toEqual([{ type: "text", text: "back" }]);
    expect(states).toEqual(["CONNECTING", "READY", "IDLE", "CONNECTING", "READY"]);
  });

  test("fails every call in flight with the reason, and makes no tool run twice", async () => {
    const { server, connection } = setUp();
    await connection.connect();
    const calls = Array.from({ length: 200 }, () => failureOf(connection.callTool({ name: "wait", arguments: {} })));
    await expect.poll(() => server.runs, waiting).toBe(200);
    server.die(transportFailure("CHILD_EXITED", true));
    const errors = await Promise.all(calls);
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["CHILD_EXITED"]));
    expect(new Set(errors.map(({ details }) => details.wasSent))).toEqual(new Set([true]));
    expect(server.runs).toBe(200);
  });

  test("automatically repeats a call that was never sent", async () => {
    const { server, connection } = setUp();
    await connection.connect();
    server.sendFailure = transportFailure("CONNECTION_LOST", false);
    expect((await connection.callTool(echo("once"))).content).toEqual([{ type: "text", text: "once" }]);
    expect(server.runs).toBe(1);
  });

  test("does not repeat a call that may have been sent", async () => {
    const { server, connection } = setUp();
    await connection.connect();
    server.sendFailure = transportFailure("CONNECTION_LOST", true);
    expect((await failureOf(connection.callTool(echo("perhaps")))).code).toBe("CONNECTION_LOST");
    expect(server.runs).toBe(0);
  });

  test("replaces a session that the server forgot by one new session, however many calls notice", async () => {
    const { server, clock, connection } = setUp();
    await connection.connect();
    clock.advance(30_001);
    const call = connection.callTool({ name: "wait", arguments: {} });
    await expect.poll(() => server.runs, waiting).toBe(1);
    server.sendFailure = transportFailure("SESSION_LOST", false);
    expect((await connection.callTool(echo("new"))).content).toEqual([{ type: "text", text: "new" }]);
    expect(server.opened).toBe(2);
    // A call in flight on the old session gets its own response.
    server.release();
    expect((await call).content).toEqual([{ type: "text", text: "released" }]);
  });

  test("reopens a connection that was lost soon after it opened after a delay, for which a call waits", async () => {
    const { server, clock, connection, states } = setUp();
    await connection.ping();
    server.die(transportFailure("CHILD_EXITED", true));
    await expect.poll(() => connection.state, waiting).toBe("TRANSIENT_FAILURE");
    const call = connection.callTool(echo("back"));
    await expect.poll(() => clock.waiting, waiting).toBe(1);
    clock.advance(500);
    expect((await call).content).toEqual([{ type: "text", text: "back" }]);
    expect(states).toEqual(["CONNECTING", "READY", "TRANSIENT_FAILURE", "CONNECTING", "READY"]);
  });

  test("does not keep reopening a connection that dies each time right after its handshake", async () => {
    const { server, clock, connection } = setUp({ isEager: true, backOff: { firstMs: 1000, maxMs: 60_000 } });
    await connection.connect();
    server.die(transportFailure("CHILD_EXITED", true));
    await expect.poll(() => connection.state, waiting).toBe("TRANSIENT_FAILURE");
    const before = server.opened;
    clock.advance(999);
    expect(server.opened).toBe(before);
  });
});

describe("a call", () => {
  test("reports the message of a server that refuses a call", async () => {
    const { connection } = setUp();
    const error = await failureOf(
      connection.call("nothing/here", (client, options) =>
        client.request({ method: "tools/call", params: { name: "absent" } }, options),
      ),
    );
    expect(error.code).toBe("CALL_REFUSED");
    expect(error.message).toContain('The server "memory" refused');
    expect(connection.state).toBe("READY");
  });

  test("returns the result of a tool that fails as a response, not as a failure", async () => {
    const { connection } = setUp();
    const result = await connection.callTool({ name: "broken", arguments: {} });
    expect(result.isError).toBe(true);
  });

  test("ends a call when the server is silent for too long, and notifies the server", async () => {
    const { server, clock, connection } = setUp();
    const failed = failureOf(connection.callTool({ name: "wait", arguments: {} }, { idleTimeoutMs: 50 }));
    await expect.poll(() => server.runs, waiting).toBe(1);
    clock.advance(50);
    const error = await failed;
    expect(error.code).toBe("CALL_TIMEOUT");
    expect(error.message).toContain("50 ms");
    expect(server.runs).toBe(1);
    await connection.ping();
  });

  test("ends a cancelled call at once", async () => {
    const { server, connection } = setUp();
    await connection.connect();
    const controller = new AbortController();
    const call = failureOf(connection.callTool({ name: "wait", arguments: {} }, { signal: controller.signal }));
    await expect.poll(() => server.runs, waiting).toBe(1);
    const cause = new Error("The user left.");
    controller.abort(cause);
    expect(await call).toMatchObject({ code: "CALL_CANCELLED", cause, details: { wasSent: true } });
  });

  test("ends a call in flight with an error when the connection is closed", async () => {
    const { server, connection } = setUp();
    await connection.connect();
    const call = failureOf(connection.callTool({ name: "wait", arguments: {} }));
    await expect.poll(() => server.runs, waiting).toBe(1);
    await connection.close();
    expect((await call).code).toBe("CONNECTION_CLOSED");
    expect((await failureOf(connection.ping())).code).toBe("CONNECTION_CLOSED");
    expect(connection.state).toBe("SHUTDOWN");
  });
});

test("reports a callback of the program that throws once, and continues with the call and the other listeners", async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error): void => {
    if ((warning as NodeJS.ErrnoException).code === "CALLBACK_FAILED") warnings.push(warning.message);
  };
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const { server, connection } = setUp();
  const heard: string[] = [];
  connection.onListChanged(() => {
    throw new Error("the list is broken");
  });
  connection.onListChanged((list) => heard.push(list));
  connection.onState(() => {
    throw new Error("the state is broken");
  });
  await connection.connect();
  server.server.registerTool("steps", {}, async ({ mcpReq: { _meta, notify } }) => {
    const progressToken = _meta?.progressToken ?? "";
    for (const progress of [1, 2, 3]) {
      await notify({ method: "notifications/progress", params: { progressToken, progress } });
    }
    return { content: [{ type: "text", text: "done" }] };
  });
  const onProgress = (): void => {
    throw new Error("the progress is broken");
  };
  const { content } = await connection.callTool({ name: "steps" }, { onProgress });
  expect(content).toEqual([{ type: "text", text: "done" }]);
  await expect.poll(() => heard, waiting).toContain("tools");
  await expect.poll(() => warnings.length, waiting).toBe(3);
  expect(warnings.sort()).toEqual([
    'A callback for the server "memory" failed: the list is broken',
    'A callback for the server "memory" failed: the state is broken',
    'The callback onProgress for the server "memory" failed: the progress is broken',
  ]);
});

test("reports a changed list to its listeners until they are removed", async () => {
  const { server, connection } = setUp();
  const heard: string[] = [];
  const stop = connection.onListChanged((list) => heard.push(list));
  await connection.connect();
  server.server.sendToolListChanged();
  await expect.poll(() => heard, waiting).toEqual(["tools"]);
  stop();
  server.server.sendToolListChanged();
  await connection.ping();
  expect(heard).toEqual(["tools"]);
});
