import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { waiting } from "../../waiting.test.helper.js";
import { defaultLimits, type ToolTransport, type TransportContext } from "./transport.js";
import { createTestContext } from "./transport-context.test.helper.js";

/** A server that can stop reading while it continues to send. */
export interface FloodServer {
  readonly transport: ToolTransport;
  /** Sends a message to the client, on a stream that stays open as long as the transport. */
  send(message: JSONRPCMessage): void;
  /** From now on the server does not read; `release` makes it continue. */
  hold(): void;
  release(): void;
  /** How many connections it has now; undefined if it has only one. */
  connections?(): number;
}

/** Opens a transport to a server that responds to each request with an empty result, and counts the responses that it reads. */
export type OpenFlood = (context: TransportContext, take: (message: JSONRPCMessage) => void) => Promise<FloodServer>;

const floodRequests = 160;
/** With ids of this size, a flood is more than the buffers of pipes and loopback sockets hold. */
export const largeIdBytes: number = 64 * 1024;
/** The queue holds 1 MiB; one more read may arrive before that is noticed, and the rest is for responses that are being written. */
const maxPending = 100;
/** A few connections for responses, one for a stream and one for calls. */
const maxConnections = 8;

interface Flooded {
  readonly server: FloodServer;
  /** How many responses wait to be read. */
  pending(): number;
  maxPending(): number;
  readonly taken: JSONRPCMessage[];
  /** How many requests of the server arrived. */
  arrived(): number;
  closed(): boolean;
}

/** How every transport handles a server that sends endless requests, and does not read the responses. */
export function describeFloodContract(name: string, open: OpenFlood, idBytes: number): void {
  const begin = async (limits: Partial<TransportContext["limits"]>): Promise<Flooded> => {
    const context = createTestContext("http", { limits: { ...defaultLimits, connectMs: 60_000, ...limits } });
    const taken: JSONRPCMessage[] = [];
    const server = await open(context, (message) => taken.push(message));
    const { transport } = server;
    onTestFinished(() => transport.close());
    let [pending, maxPending, arrived, closed] = [0, 0, 0, false];
    transport.onclose = () => {
      closed = true;
    };
    // As the SDK does with a ping.
    transport.onmessage = (message) => {
      if (!("method" in message && "id" in message)) return;
      arrived += 1;
      const { id } = message;
      void Promise.resolve().then(() => {
        pending += 1;
        maxPending = Math.max(maxPending, pending);
        const settle = (): void => {
          pending -= 1;
        };
        transport.send({ jsonrpc: "2.0", id, result: {} }).then(settle, settle);
      });
    };
    await transport.start();
    return {
      server,
      pending: () => pending,
      maxPending: () => maxPending,
      taken,
      arrived: () => arrived,
      closed: () => closed,
    };
  };
  const flood = ({ send }: FloodServer): void => {
    for (let index = 0; index < floodRequests; index += 1) {
      send({ jsonrpc: "2.0", id: `${index}-`.padEnd(idBytes, "x"), method: "ping" });
    }
  };
  /** Waits until nothing arrives any more. */
  const settled = async (flooded: Flooded): Promise<void> => {
    let [last, same] = [-1, 0];
    await vi.waitFor(
      () => {
        same = flooded.arrived() === last ? same + 1 : 0;
        last = flooded.arrived();
        expect(last).toBeGreaterThan(0);
        expect(same).toBeGreaterThan(20);
      },
      { timeout: 60_000, interval: 25 },
    );
  };

  describe(`${name} limits a server that sends requests and accepts no responses`, () => {
    test("pauses reading, keeps few responses and connections waiting, affects no other server, and works afterwards", async () => {
      const [hostile, other] = [await begin({}), await begin({})];
      const { server } = hostile;
      server.hold();
      flood(server);
      await settled(hostile);
      expect(hostile.pending()).toBeGreaterThan(0);
      expect(hostile.maxPending()).toBeLessThan(maxPending);
      expect(server.connections?.() ?? 0).toBeLessThanOrEqual(maxConnections);

      other.server.send({ jsonrpc: "2.0", id: "victim", method: "ping" });
      await vi.waitFor(() => expect(other.taken).toEqual([{ jsonrpc: "2.0", id: "victim", result: {} }]), waiting);

      server.release();
      await vi.waitFor(() => expect(hostile.taken).toHaveLength(floodRequests), { timeout: 60_000, interval: 20 });
      await vi.waitFor(() => expect(hostile.pending()).toBe(0), waiting);
      expect(hostile.maxPending()).toBeLessThan(maxPending);
      expect(server.connections?.() ?? 0).toBeLessThanOrEqual(maxConnections);
      expect(server.transport.failure).toBeUndefined();
      expect(hostile.closed()).toBe(false);
    });

    test("fails the connection with the reason when the server accepts no response for too long", async () => {
      const hostile = await begin({ stallMs: 500 });
      const { server } = hostile;
      server.hold();
      flood(server);
      await vi.waitFor(() => expect(hostile.closed()).toBe(true), waiting);
      expect(server.transport.failure).toMatchObject({ code: "CONNECTION_LOST" });
      expect(server.transport.failure?.message).toMatch(/requests.*respons/);
      await vi.waitFor(() => expect(hostile.pending()).toBe(0), waiting);
    });
  });
}

/** How a transport with one pipe or socket for all messages handles a server that does not read its input. */
export function describeUnreadContract(name: string, open: OpenFlood): void {
  const begin = async (limits: Partial<TransportContext["limits"]>) => {
    const taken: JSONRPCMessage[] = [];
    const context = createTestContext("http", { limits: { ...defaultLimits, ...limits } });
    const server = await open(context, (message) => taken.push(message));
    const { transport } = server;
    onTestFinished(() => transport.close());
    await transport.start();
    return { server, transport, taken };
  };
  const requestOf = (id: number, bytes: number): JSONRPCMessage => {
    return { jsonrpc: "2.0", id, method: "tools/call", params: { text: "x".repeat(bytes) } };
  };
  const mebibyte = 1024 * 1024;
  /** Sends requests of 4 MiB until one is rejected. */
  const fill = async (transport: ToolTransport) => {
    const accepted: Promise<unknown>[] = [];
    for (let id = 0; id < 50; id += 1) {
      const sent = transport.send(requestOf(id, 4 * mebibyte)).then(
        () => "written",
        (error: unknown) => error,
      );
      accepted.push(sent);
      const outcome = await Promise.race([sent, new Promise((resolve) => setTimeout(resolve, 20))]);
      if (outcome instanceof Error) return { refusal: outcome, accepted: accepted.slice(0, -1) };
    }
    return { refusal: undefined, accepted };
  };

  describe(`${name} limits what waits for a server that does not read`, () => {
    test("rejects requests above 16 MiB at once, sends the others and cancellations later, and works afterwards", async () => {
      const { server, transport, taken } = await begin({});
      server.hold();
      const { refusal, accepted } = await fill(transport);
      expect(refusal).toMatchObject({ code: "SERVER_BUSY", details: { wasSent: false } });
      // The buffers of the system may hold one or two more.
      expect(accepted.length).toBeGreaterThanOrEqual(4);
      expect(accepted.length).toBeLessThanOrEqual(10);
      const cancelled = { jsonrpc: "2.0" as const, method: "notifications/cancelled", params: { requestId: 0 } };
      const notified = transport.send(cancelled);

      server.release();
      expect(new Set(await Promise.all(accepted))).toEqual(new Set(["written"]));
      await notified;
      await transport.send(requestOf(100, 1));
      await vi.waitFor(() => expect(taken).toHaveLength(accepted.length + 2), waiting);
      expect(taken.at(-2)).toEqual(cancelled);
      expect(transport.failure).toBeUndefined();
    });

    test("fails with the reason if the server does not continue to read, so that it is started or connected again", async () => {
      const { server, transport } = await begin({ stallMs: 500 });
      let isClosed = false;
      transport.onclose = () => {
        isClosed = true;
      };
      server.hold();
      const accepted: Promise<unknown>[] = [];
      // The buffers of the system may still take one or two requests after the first rejection.
      await vi.waitFor(
        async () => {
          accepted.push(...(await fill(transport)).accepted);
          expect(isClosed).toBe(true);
        },
        { timeout: 50_000, interval: 100 },
      );
      expect(transport.failure).toMatchObject({
        code: "CONNECTION_LOST",
        message: expect.stringMatching(/did not read its (standard )?input for 0\.5 s/),
      });
      const lost = (await Promise.all(accepted)).filter((outcome) => outcome !== "written");
      expect(lost.length).toBeGreaterThan(0);
      for (const failure of lost) expect(failure).toMatchObject({ code: "CONNECTION_LOST" });
    });
  });
}
