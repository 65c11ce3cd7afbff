import { PassThrough } from "node:stream";
import { onTestFinished, vi } from "vitest";
import { certificate } from "../../http/hostile-http-server.test.helper.js";
import type { TlsSettings } from "../../http/tls-settings.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { type BridgeOptions, runBridge } from "./run-bridge.js";

/** A JSON-RPC message, as tests inspect it. */
export interface Line {
  readonly jsonrpc: "2.0";
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A bridge with a client that writes and reads lines. Ends with the test. */
export interface TestBridge {
  /** Sends a message, or several, or any text. */
  send(...messages: readonly (object | string)[]): void;
  /** Sends a request; resolves with its response. */
  ask(method: string, params?: Record<string, unknown>): Promise<Line>;
  /** The received messages, in order. */
  readonly lines: readonly Line[];
  /** The problems that it reported. */
  readonly problems: readonly string[];
  /** Disconnects the client. */
  leave(): void;
  /** Settles as the bridge does. */
  readonly ended: Promise<void>;
  readonly input: PassThrough;
}

/** A client certificate that the test server accepts, and the CA of that server. */
export const clientTls: Required<TlsSettings> = {
  ca: certificate("ca"),
  certificate: certificate("client"),
  key: certificate("client-key"),
};

export function startBridge(url: URL | string, options: Partial<BridgeOptions> = {}): TestBridge {
  const input = new PassThrough();
  const output = new PassThrough();
  const lines: Line[] = [];
  const problems: string[] = [];
  let rest = "";
  output.on("data", (chunk) => {
    const parts = (rest + String(chunk)).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts.map((part) => JSON.parse(part) as Line));
  });
  const ended = runBridge({
    url: new URL(url),
    type: "http",
    tls: clientTls,
    variables: {},
    secrets: createSecretRegistry(),
    input,
    output,
    onProblem: (text) => void problems.push(text),
    ...options,
  });
  ended.catch(() => {});
  onTestFinished(async () => {
    input.end();
    await ended.catch(() => {});
  });
  let lastId = 0;
  const send = (...messages: readonly (object | string)[]): void => {
    const texts = messages.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
    input.write(texts.map((text) => `${text}\n`).join(""));
  };
  return {
    send,
    lines,
    problems,
    input,
    ended,
    leave: () => void input.end(),
    ask(method, params = {}) {
      lastId += 1;
      const id = lastId;
      send({ jsonrpc: "2.0", id, method, params });
      return vi.waitUntil(() => lines.find((line) => line.id === id && line.method === undefined), {
        timeout: 60_000,
        interval: 5,
      }) as Promise<Line>;
    },
  };
}

/** Starts a session of the older era. */
export async function initialize(bridge: TestBridge): Promise<Line> {
  const clientInfo = { name: "test", version: "1" };
  const response = await bridge.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  bridge.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return response;
}
