import type { JSONRPCMessage, JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ToolServerError } from "../../errors.js";
import { waiting } from "../../waiting.test.helper.js";
import { responseIdOf } from "../rpc/json-rpc.js";
import { defaultLimits, type ToolTransport, type TransportContext } from "./transport.js";
import { createTestContext, listenTo, type Published } from "./transport-context.test.helper.js";

/** Handles a message of the contract; the transport's own server calls it, and sends the messages that it passes. */
export type ContractServer = (message: JSONRPCMessage, reply: ContractReply) => void;

export interface ContractReply {
  /** Sends a message to the client; the response to the request is the last. */
  send(message: JSONRPCMessage): void;
  /** Sends text that is not a JSON-RPC message in place of messages. */
  sendGarbage(text: string): void;
}

/** A transport, not yet started, and its server. */
export interface ContractSetup {
  readonly transport: ToolTransport;
  /** Ends the server at once, as a crash does. */
  kill(): void;
  /** Ends what the transport does not own, such as the HTTP client. */
  dispose?(): Promise<void>;
  /** Throws while anything is left of the connection: a process, a socket. */
  assertGone(): void;
}

export interface ContractSubject {
  readonly kind: ToolTransport["kind"];
  /** Starts a server with this handler, and creates a transport to it. */
  open(context: TransportContext, serve: ContractServer): Promise<ContractSetup>;
  /** Whether the transport ends with the server; false if each request has its own connection. */
  readonly endsWithServer: boolean;
  /** Whether the transport ends with a response above the limit, instead of only its request. Default: false. */
  readonly endsWithLargeResponse?: boolean;
}

const secret = "s3cr3t-of-the-contract";

/** The contract of every transport. */
export function describeTransportContract(name: string, subject: ContractSubject): void {
  const begin = async (messageBytes = defaultLimits.messageBytes): Promise<Peers> => {
    const context = { ...createTestContext(subject.kind), limits: { ...defaultLimits, messageBytes } };
    context.secrets.add(secret);
    const published = listenTo(context.info);
    const toServer: JSONRPCMessage[] = [];
    const held: (() => void)[] = [];
    const setup = await subject.open(context, (message, reply) => {
      toServer.push(message);
      serveContract(message, reply, held);
    });
    const { transport } = setup;
    const end = async (): Promise<void> => {
      await transport.close();
      await setup.dispose?.();
    };
    onTestFinished(end);
    const toClient: JSONRPCMessage[] = [];
    const calls = new Map<RequestId, { resolve(message: JSONRPCMessage): void; reject(error: unknown): void }>();
    let closings = 0;
    transport.onmessage = (message) => {
      toClient.push(message as JSONRPCMessage);
      const id = responseIdOf(message);
      if (id !== undefined) calls.get(id)?.resolve(message as JSONRPCMessage);
    };
    transport.onrequestfailed = (id, error) => calls.get(id)?.reject(error);
    transport.onclose = () => {
      closings += 1;
      for (const { reject } of calls.values()) reject(transport.failure ?? new Error("closed on this side"));
    };
    await transport.start();
    let lastId = 0;
    return {
      ...setup,
      published,
      toServer,
      toClient,
      end,
      closings: () => closings,
      call(method, params = {}) {
        lastId += 1;
        const request: JSONRPCRequest = { jsonrpc: "2.0", id: lastId, method, params };
        return new Promise((resolve, reject) => {
          calls.set(request.id, { resolve, reject });
          transport.send(request).catch(reject);
        });
      },
    };
  };

  describe(`${name} fulfils the contract of a transport`, () => {
    test("returns the response to a request, and delivers a notification", async () => {
      const { transport, call, toServer } = await begin();
      expect(await call("test/echo", { mark: "grüße 🌍 \u2028" })).toEqual({
        jsonrpc: "2.0",
        id: 1,
        result: { mark: "grüße 🌍 \u2028" },
      });
      await transport.send({ jsonrpc: "2.0", method: "notifications/noted" });
      await vi.waitFor(
        () => expect(toServer).toContainEqual({ jsonrpc: "2.0", method: "notifications/noted" }),
        waiting,
      );
      expect(transport.failure).toBeUndefined();
    });

    test("reports that a request was written before its response arrives", async () => {
      const { transport, toClient } = await begin();
      const responses: number[] = [];
      const onSending = (): void => void responses.push(toClient.length);
      await transport.send({ jsonrpc: "2.0", id: 1, method: "test/echo", params: {} }, { onSending });
      await vi.waitFor(() => expect(toClient).toHaveLength(1), waiting);
      expect(responses).toEqual([0]);
    });

    test("returns each of 100 concurrent requests its own response", async () => {
      const { call } = await begin();
      const marks = Array.from({ length: 100 }, (_, index) => `mark ${index}`);
      const responses = await Promise.all(marks.map((mark) => call("test/echo", { mark })));
      expect(responses.map((response) => ("result" in response ? response.result.mark : response))).toEqual(marks);
    });

    test("delivers server requests and notifications, and returns the responses", async () => {
      const { transport, call, toClient, toServer } = await begin();
      await call("test/stir", { mark: "m" });
      await vi.waitFor(() => {
        expect(toClient).toContainEqual({ jsonrpc: "2.0", method: "test/noted", params: { mark: "m" } });
        expect(toClient).toContainEqual({ jsonrpc: "2.0", id: "asked-m", method: "test/asked", params: { mark: "m" } });
      }, waiting);
      const response: JSONRPCMessage = { jsonrpc: "2.0", id: "asked-m", result: { isHeard: true } };
      await transport.send(response);
      await vi.waitFor(() => expect(toServer).toContainEqual(response), waiting);
    });

    test("transfers a message of 5 MB in both directions", async () => {
      const { call } = await begin();
      const mark = "0123456789abcdeü".repeat((5 * 1024 * 1024) / 16);
      const response = await call("test/echo", { mark });
      expect("result" in response && response.result.mark === mark).toBe(true);
    });

    test.skipIf(subject.endsWithLargeResponse).each(["first", "last"])(
      "fails only the request whose response is larger than the limit, with the id %s [TS-D-EXT-9]",
      async (idPlace) => {
        const { transport, call, closings } = await begin(100_000);
        const held = call("test/hold", { mark: "held" });
        for (const bytes of [100_001, 1_000_000]) {
          await expect(call("test/large", { bytes, idPlace })).rejects.toMatchObject({
            code: "MESSAGE_TOO_LARGE",
            message: expect.stringContaining("100000 bytes"),
          });
        }
        const fitting = await call("test/large", { bytes: 50_000, idPlace });
        expect("result" in fitting && String(fitting.result.mark).length).toBe(50_000);
        await call("test/release");
        expect(await held).toMatchObject({ result: { mark: "held" } });
        expect(await call("test/echo", { mark: "after" })).toMatchObject({ result: { mark: "after" } });
        expect(transport.failure).toBeUndefined();
        expect(closings()).toBe(0);
      },
    );

    test("ignores output that is not a message, without affecting another request", async () => {
      const { transport, call } = await begin();
      // If each request has its own stream, it may fail with the text that arrived there.
      await call("test/garble").catch((error: unknown) => expect(ToolServerError.is(error)).toBe(true));
      expect(await call("test/echo", { mark: "after" })).toMatchObject({ result: { mark: "after" } });
      expect(transport.failure).toBeUndefined();
    });

    test("ends once, however often it is closed, and leaves nothing behind", async () => {
      const { transport, call, closings, end, assertGone } = await begin();
      await call("test/echo", { mark: "m" });
      await Promise.all([transport.close(), transport.close()]);
      await transport.close();
      expect(closings()).toBe(1);
      expect(transport.failure).toBeUndefined();
      await end();
      await vi.waitFor(assertGone, waiting);
    });

    test("ends requests in flight when it is closed", async () => {
      const { transport, call, toServer } = await begin();
      const calls = Promise.allSettled(Array.from({ length: 5 }, () => call("test/hang")));
      await vi.waitFor(() => expect(toServer).toHaveLength(5), waiting);
      await transport.close();
      expect((await calls).map(({ status }) => status)).toEqual(Array(5).fill("rejected"));
    });

    test("refuses a message after the close as not sent", async () => {
      const { transport, toServer } = await begin();
      await transport.close();
      await expect(transport.send({ jsonrpc: "2.0", id: 1, method: "test/echo" })).rejects.toMatchObject({
        name: "ToolServerError",
        code: "CONNECTION_CLOSED",
        details: { wasSent: false },
      });
      expect(toServer).toEqual([]);
    });

    test("ends each of 100 requests in flight with an error if the server dies", async () => {
      const { transport, call, kill, toServer, closings, end, assertGone } = await begin();
      await call("test/echo", { mark: "m" });
      const calls = Array.from({ length: 100 }, () => call("test/hang"));
      const ends = Promise.allSettled(calls);
      await vi.waitFor(() => expect(toServer).toHaveLength(101), waiting);
      kill();
      for (const result of await ends) {
        expect(result).toMatchObject({ status: "rejected", reason: expect.any(ToolServerError) });
      }
      if (subject.endsWithServer) {
        await vi.waitFor(() => expect(closings()).toBe(1), waiting);
        expect(transport.failure).toBeInstanceOf(ToolServerError);
        await expect(transport.send({ jsonrpc: "2.0", id: "late", method: "test/echo" })).rejects.toMatchObject({
          code: "CONNECTION_LOST",
          cause: transport.failure,
          details: { wasSent: false },
        });
      }
      await end();
      expect(closings()).toBe(1);
      await vi.waitFor(assertGone, waiting);
    });

    test("counts messages, streams and sockets, and ends every one that was started", async () => {
      const { transport, call, toServer, toClient, end, published } = await begin();
      for (const mark of ["a", "b", "c"]) await call("test/echo", { mark });
      await call("test/stir", { mark: "m" });
      await transport.send({ jsonrpc: "2.0", method: "notifications/noted" });
      await transport.send({ jsonrpc: "2.0", id: "asked-m", result: {} });
      void call("test/hang").catch(() => {});
      await vi.waitFor(() => expect(toServer).toHaveLength(7), waiting);
      await vi.waitFor(() => expect(toClient).toHaveLength(6), waiting);
      await end();
      await vi.waitFor(() => {
        const totals = published.totals();
        expect(totals).toMatchObject({ "message-sent": 7, "message-received": 6, closed: totals.opened });
        expect(totals.opened).toBeGreaterThan(0);
        expect(totals["stream-started"]).toBeGreaterThanOrEqual(5);
        expect(totals["stream-failed"]).toBeGreaterThanOrEqual(1);
        expect(totals["stream-succeeded"] + totals["stream-failed"]).toBe(totals["stream-started"]);
      }, waiting);
      for (const counts of published.sockets.values()) expect(counts).toMatchObject({ opened: 1, closed: 1 });
    });

    test("shows no secret that the server sends in its errors", async () => {
      const { transport, call, kill, closings, end, published } = await begin();
      const reported: unknown[] = [];
      transport.onerror = (error) => reported.push(error);
      await call("test/garble", { mark: secret }).catch((error: unknown) => reported.push(error));
      const hanging = call("test/hang", { mark: secret });
      kill();
      await hanging.catch((error: unknown) => reported.push(error));
      if (subject.endsWithServer) await vi.waitFor(() => expect(closings()).toBe(1), waiting);
      reported.push(transport.failure);
      await end();
      await transport.send({ jsonrpc: "2.0", method: "test/late" }).catch((error: unknown) => reported.push(error));
      expect(reported.length).toBeGreaterThanOrEqual(3);
      for (const error of reported) expect(String(error)).not.toContain(secret);
      expect(published.words()).not.toContain(secret);
    });
  });
}

interface Peers extends ContractSetup {
  readonly published: Published;
  /** The messages that the server received. */
  readonly toServer: readonly JSONRPCMessage[];
  /** The messages that the client received. */
  readonly toClient: readonly JSONRPCMessage[];
  /** Sends a request; resolves with its response, and rejects if there will be none. */
  call(method: string, params?: Record<string, unknown>): Promise<JSONRPCMessage>;
  /** Closes the transport and what belongs to it. */
  end(): Promise<void>;
  /** How often `onclose` was called. */
  closings(): number;
}

/** The server of the contract. */
function serveContract(message: JSONRPCMessage, { send, sendGarbage }: ContractReply, held: (() => void)[]): void {
  if (!("method" in message) || !("id" in message)) return;
  const mark = message.params?.mark;
  const params = mark === undefined ? {} : { mark };
  if (message.method === "test/hang") return;
  if (message.method === "test/hold") {
    held.push(() => send({ jsonrpc: "2.0", id: message.id, result: params }));
    return;
  }
  if (message.method === "test/release") for (const release of held.splice(0)) release();
  if (message.method === "test/large") {
    const result = { mark: "x".repeat(Number(message.params?.bytes)), id: 99 };
    send(
      message.params?.idPlace === "first"
        ? { jsonrpc: "2.0", id: message.id, result }
        : { result, jsonrpc: "2.0", id: message.id },
    );
    return;
  }
  if (message.method === "test/garble") {
    sendGarbage(`Listening, with ${mark}`);
    sendGarbage('{"jsonrpc":"1.0","result":[]}');
  }
  if (message.method === "test/stir") {
    send({ jsonrpc: "2.0", method: "test/noted", params });
    send({ jsonrpc: "2.0", id: `asked-${mark}`, method: "test/asked", params });
  }
  send({ jsonrpc: "2.0", id: message.id, result: params });
}
