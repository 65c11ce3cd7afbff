import { PassThrough, type Readable, type Writable } from "node:stream";
import { createSecretRegistry, ToolServerError, type ToolTransport } from "@wirescope/tool-server";
import { createNetworkLink, createPipeTransport } from "@wirescope/tool-server/internal";
import type { RunningGateway } from "../../gateway-file.js";
import type { Io } from "../../io.js";
import { readPem } from "../../tool-server/read-pem.js";

/** A link to a running gateway, or to one in this process. */
export interface GatewayLink {
  readonly transport: ToolTransport;
  /** The process that runs the gateway; undefined if it is this one. */
  readonly pid: number | undefined;
  /** Why the gateway in this process could not start, or stopped. */
  readonly failure: ToolServerError | undefined;
  /** Stops the gateway if it is in this process, after calls in flight. */
  stop(): Promise<void>;
  /** Closes the link, and stops the gateway if it is in this process. */
  close(): Promise<void>;
}

/** A link to a running gateway; undefined if it does not respond or does not accept its token. */
export async function linkToRunning(
  running: RunningGateway,
  ca: string | undefined,
  io: Io,
): Promise<GatewayLink | undefined> {
  const { connectToGateway } = await import("../../admin/connect-to-gateway.js");
  const admin = await connectToGateway(running, { endpoint: false, ca }, io).catch(() => undefined);
  if (admin === undefined) return undefined;
  const { pid, endpoint, token } = running;
  const secrets = createSecretRegistry();
  if (token !== undefined) secrets.add(token);
  const link = createNetworkLink({
    url: new URL(endpoint),
    type: "http",
    tls: { ca: readPem(ca, "--ca") },
    headers: token === undefined ? [] : [{ name: "Authorization", value: `Bearer ${token}`, variables: [] }],
    // The gateway is local, so no proxy is used.
    variables: {},
    secrets,
  });
  const transport = link.openTransport();
  return {
    transport,
    pid,
    failure: undefined,
    stop: async () => {},
    async close() {
      await transport.close();
      await link.close();
    },
  };
}

/** Runs a gateway that serves one client over these streams, until the signal aborts or the client disconnects. */
export type RunGateway = (input: Readable, output: Writable, stop: AbortSignal) => Promise<unknown>;

/** A link to a gateway that is started in this process. `onFailed` is called if it cannot start, and returns the error for its client. */
export function linkToOwn(run: RunGateway, onFailed: (error: unknown) => ToolServerError): GatewayLink {
  let failure: ToolServerError | undefined;
  const [toGateway, fromGateway] = [new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  const transport = createPipeTransport("gateway", fromGateway, toGateway);
  const running: Promise<void> = run(toGateway, fromGateway, stop.signal)
    .then(
      () => {},
      (error: unknown) => {
        failure = onFailed(error);
      },
    )
    .finally(() => fromGateway.destroy());
  return {
    transport,
    pid: undefined,
    get failure() {
      return failure;
    },
    stop() {
      stop.abort();
      return running;
    },
    async close() {
      stop.abort();
      await transport.close();
      await running;
    },
  };
}

/** A transport that opens its link when it starts. `onMessage` is called for each message from the gateway. */
export function createGatewayTransport(open: () => Promise<GatewayLink>, onMessage: () => void): ToolTransport {
  let link: GatewayLink | undefined;
  let isClosed = false;
  const transport: ToolTransport = {
    kind: "http",
    get hasPerRequestStream() {
      return link?.transport.hasPerRequestStream === true;
    },
    get failure() {
      return link?.failure ?? link?.transport.failure;
    },
    async start() {
      const opened = await open();
      link = opened;
      if (isClosed) {
        await opened.close();
        throw new ToolServerError("CONNECTION_CLOSED", { problem: "The client disconnected.", advice: "" });
      }
      // Its pipes have already ended, so there would be no response.
      if (opened.failure !== undefined) throw opened.failure;
      opened.transport.onmessage = (message, extra) => {
        onMessage();
        transport.onmessage?.(message, extra);
      };
      opened.transport.onerror = (error) => transport.onerror?.(error);
      opened.transport.ondraining = (failure) => transport.ondraining?.(failure);
      opened.transport.onclose = () => {
        void opened.close();
        transport.onclose?.();
      };
      await opened.transport.start();
    },
    async send(message, options) {
      if (link === undefined) throw new TypeError("The transport has not started yet.");
      if (link.failure !== undefined) throw link.failure;
      return link.transport.send(message, options);
    },
    async close() {
      isClosed = true;
      await link?.close();
    },
    setProtocolVersion: (version) => link?.transport.setProtocolVersion?.(version),
  };
  return transport;
}
