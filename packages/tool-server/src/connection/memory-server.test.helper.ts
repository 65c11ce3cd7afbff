import { InMemoryTransport, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { createNoCredential } from "../auth/credentials/fixed-credential.js";
import type { ConnectionInfo, TransportInfo } from "../connection-info.js";
import { createReporter } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import { createFakeClock, type FakeClock } from "../fake-clock.test.helper.js";
import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import type { Connection } from "./connection.js";
import { type ConnectionOptions, createConnection } from "./create-connection.js";
import type { ToolTransport } from "./transports/transport.js";

/** An SDK server in this process, with switches for failures. */
export interface MemoryServer {
  readonly info: ConnectionInfo;
  openTransport(): { transport: ToolTransport; info: TransportInfo };
  /** What the next transports do: connect, or fail to start for this reason. */
  startFailure: ToolServerError | undefined;
  /** The failure of the next send of a `tools/call`. */
  sendFailure: ToolServerError | undefined;
  /** Ends the newest transport, like a server that dies. */
  die(failure: ToolServerError): void;
  /** The same, but the end is reported a turn of the event loop later; until then nothing can be sent. */
  dieSlowly(failure: ToolServerError): void;
  /** How many transports were opened. */
  readonly opened: number;
  /** How often the tool ran. */
  readonly runs: number;
  /** Called when the tool `wait` is cancelled. */
  onCancelled: ((value?: unknown) => void) | undefined;
  /** Lets the tool `wait` continue. */
  release(): void;
  readonly server: McpServer;
}

export function createMemoryServer(): MemoryServer {
  const info: ConnectionInfo = {
    kind: "stdio",
    name: "memory",
    target: "stdio:memory",
    tenant: {},
    credential: () => createNoCredential({ server: "memory" }).describe(),
  };
  let opened = 0;
  let runs = 0;
  let latest: { end(failure: ToolServerError, isSlow?: boolean): void; server: McpServer } | undefined;
  const waiting = new Set<() => void>();

  const serve = (): McpServer => {
    const server = new McpServer(
      { name: "memory", version: "1.0.0" },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, ({ text }) => {
      runs += 1;
      return { content: [{ type: "text", text }] };
    });
    server.registerTool("wait", { inputSchema: z.object({}) }, async (_, context) => {
      runs += 1;
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
        context.mcpReq.signal.addEventListener("abort", () => {
          memory.onCancelled?.();
          resolve();
        });
      });
      return { content: [{ type: "text", text: "released" }] };
    });
    server.registerTool("broken", { inputSchema: z.object({}) }, () => {
      throw new Error("it broke");
    });
    return server;
  };

  const memory: MemoryServer = {
    info,
    onCancelled: undefined,
    startFailure: undefined,
    sendFailure: undefined,
    openTransport() {
      opened += 1;
      const [near, far] = InMemoryTransport.createLinkedPair();
      const server = serve();
      const transport = wrap(near, server, far, this);
      latest = { server, end: transport.end };
      return { transport, info: { connection: info, target: "memory" } };
    },
    die(failure) {
      latest?.end(failure);
    },
    dieSlowly(failure) {
      latest?.end(failure, true);
    },
    get opened() {
      return opened;
    },
    get runs() {
      return runs;
    },
    release() {
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
    get server() {
      if (latest === undefined) throw new Error("There is no server yet.");
      return latest.server;
    },
  };
  return memory;
}

function wrap(
  near: InMemoryTransport,
  server: McpServer,
  far: Transport,
  switches: Pick<MemoryServer, "startFailure" | "sendFailure">,
): ToolTransport & { end(failure: ToolServerError, isSlow?: boolean): void } {
  let failure: ToolServerError | undefined;
  const transport: ToolTransport & { end(failure: ToolServerError, isSlow?: boolean): void } = {
    kind: "http",
    get failure() {
      return failure;
    },
    async start() {
      if (switches.startFailure !== undefined) throw switches.startFailure;
      near.onmessage = (message) => transport.onmessage?.(message);
      near.onclose = () => transport.onclose?.();
      await server.connect(far);
      await near.start();
    },
    async send(message, options) {
      if (failure !== undefined) throw transportFailure("CONNECTION_LOST", false);
      const refusal = switches.sendFailure;
      if (refusal !== undefined && "method" in message && message.method === "tools/call") {
        switches.sendFailure = undefined;
        throw refusal;
      }
      options?.onSending?.();
      await near.send(message as JSONRPCMessage);
    },
    close: () => near.close(),
    end(reason, isSlow = false) {
      failure = reason;
      if (isSlow) setImmediate(() => void near.close());
      else void near.close();
    },
  };
  return transport;
}

/** A failure of a transport. */
export function transportFailure(code: ToolServerError["code"], wasSent: boolean): ToolServerError {
  return new ToolServerError(code, { problem: `It is a ${code}.`, advice: "" }, { details: { wasSent } });
}

/** A server in this process and a connection to it, with a clock that does not advance. */
export interface MemoryConnection {
  readonly server: MemoryServer;
  readonly clock: FakeClock;
  readonly secrets: SecretRegistry;
  readonly connection: Connection;
}

/** Creates a connection, which closes with the test. Its reconnect delays have no jitter. */
export function createMemoryConnection(
  options: Partial<ConnectionOptions> = {},
  server: MemoryServer = createMemoryServer(),
): MemoryConnection {
  const clock = createFakeClock();
  const secrets = createSecretRegistry();
  const connection = createConnection({
    info: server.info,
    openTransport: () => server.openTransport(),
    settings: { info: { name: "test", version: "0" } },
    report: createReporter(secrets),
    redact: secrets.redact,
    clock,
    random: () => 1,
    ...options,
  });
  onTestFinished(() => connection.close());
  return { server, clock, secrets, connection };
}
