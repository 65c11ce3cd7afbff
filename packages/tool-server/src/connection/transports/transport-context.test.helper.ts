import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import type { Credential } from "../../auth/credentials/credential.js";
import { createHeaderCredential, createNoCredential } from "../../auth/credentials/fixed-credential.js";
import { systemClock } from "../../clock.js";
import type { SocketInfo, TransportInfo, TransportKind } from "../../connection-info.js";
import {
  channelPrefix,
  channels,
  createReporter,
  type Ending,
  type ToolServerChannelName,
  type TraceEvent,
} from "../../diagnostics.js";
import { createHttpClient, type HttpClientOptions } from "../../http/create-http-client.js";
import { createSecretRegistry, type SecretRegistry } from "../../secrets/redactor.js";
import { defaultLimits, type NetworkContext, type TransportContext } from "./transport.js";

/** A context for testing a transport, and the events that were published about it. */
export interface TestContext extends TransportContext {
  readonly secrets: SecretRegistry;
}

export function createTestContext(kind: TransportKind, changes: Partial<TransportContext> = {}): TestContext {
  const secrets = createSecretRegistry();
  const credential = changes.credential ?? createNoCredential({ server: "notes" });
  const info: TransportInfo = {
    target: "test",
    connection: { kind, name: "notes", target: "test", tenant: {}, credential: () => credential.describe() },
  };
  return {
    server: "notes",
    info,
    report: createReporter(secrets),
    clock: systemClock,
    limits: defaultLimits,
    ...changes,
    credential,
    secrets,
  };
}

/** The number of each kind of event on a socket. */
type SocketCounts = Record<
  | "opened"
  | "closed"
  | "stream-started"
  | "stream-succeeded"
  | "stream-failed"
  | "message-sent"
  | "message-received"
  | "keep-alive-sent",
  number
>;

/** The events of one transport, from the call to the end of the test. */
export interface Published {
  /** By socket, in the order of their opening. */
  readonly sockets: ReadonlyMap<SocketInfo, SocketCounts>;
  /** Over all sockets. */
  totals(): SocketCounts;
  /** Why sockets closed. */
  readonly reasons: readonly string[];
  readonly traceEvents: readonly TraceEvent[];
  /** Everything that was reported, as text. */
  words(): string;
}

const nothing: SocketCounts = {
  opened: 0,
  closed: 0,
  "stream-started": 0,
  "stream-succeeded": 0,
  "stream-failed": 0,
  "message-sent": 0,
  "message-received": 0,
  "keep-alive-sent": 0,
};

/** Subscribes to the events of a transport. */
export function listenTo(info: TransportInfo): Published {
  const sockets = new Map<SocketInfo, SocketCounts>();
  const reasons: string[] = [];
  const traceEvents: TraceEvent[] = [];
  const listen = (name: ToolServerChannelName, onMessage: (message: unknown) => void): void => {
    subscribe(`${channelPrefix}${name}`, onMessage);
    onTestFinished(() => void unsubscribe(`${channelPrefix}${name}`, onMessage));
  };
  const count = (socketInfo: SocketInfo, what: keyof SocketCounts): void => {
    if (socketInfo.transport !== info) return;
    const counts = sockets.get(socketInfo) ?? { ...nothing };
    counts[what] += 1;
    sockets.set(socketInfo, counts);
  };
  for (const name of Object.keys(channels) as ToolServerChannelName[]) {
    const what = name.replace("socket:", "") as keyof SocketCounts;
    if (name === "socket:closed") {
      listen(name, (message) => {
        const { subject, reason } = message as Ending<SocketInfo>;
        count(subject, what);
        if (subject.transport === info) reasons.push(reason);
      });
    } else if (name.startsWith("socket:")) listen(name, (message) => count(message as SocketInfo, what));
  }
  listen("trace", (message) => {
    if ((message as TraceEvent).subject === info) traceEvents.push(message as TraceEvent);
  });
  return {
    sockets,
    reasons,
    traceEvents,
    totals() {
      const sum = { ...nothing };
      for (const counts of sockets.values())
        for (const what of Object.keys(sum) as (keyof SocketCounts)[]) sum[what] += counts[what];
      return sum;
    },
    words: () => [...reasons, ...traceEvents.map(({ text }) => text)].join("\n"),
  };
}

/** A context for a server on the network, with an HTTP client that is closed with the test. */
export function overNetwork<Context extends TransportContext>(
  context: Context,
  url: URL | string,
  options: Partial<HttpClientOptions> = {},
): Context & NetworkContext {
  const { server, info, secrets } = context;
  const http = createHttpClient({ server, secrets, transport: () => info, ...options });
  onTestFinished(() => http.close());
  return { ...context, url: new URL(url), http };
}

/** A credential with these headers in turn: the next ones after each refusal, while there are any. */
function createCredentialOf(
  secrets: TestContext["secrets"],
  ...values: readonly Readonly<Record<string, string>>[]
): Credential & { readonly refusals: readonly number[] } {
  const credentials = values.map((headers) =>
    createHeaderCredential({
      server: "notes",
      secrets,
      headers: Object.entries(headers).map(([name, value]) => ({ name, value, variables: ["API_TOKEN"] })),
    }),
  );
  let index = 0;
  const refusals: number[] = [];
  const current = (): Credential => credentials[index] ?? credentials[0]!;
  return {
    kind: "headers",
    refusals,
    headers: (request) => current().headers(request),
    environment: () => ({}),
    async refused(refusal) {
      refusals.push(refusal.status);
      if (refusal.attempt > 1 || index + 1 >= credentials.length) return current().refused(refusal);
      index += 1;
      return { action: "retry" };
    },
    describe: () => current().describe(),
    dispose: async () => {},
  };
}

/** Overrides for a network context. */
export type NetworkChanges = Partial<TransportContext> & {
  /** The headers of the credential, in turn. */
  readonly headers?: readonly Readonly<Record<string, string>>[];
  /** A secret that is known. */
  readonly secret?: string;
  readonly http?: Partial<HttpClientOptions>;
};

/** A context for a server on the network that signs in with these headers, in turn. */
export function createNetworkContext(
  kind: "ws" | "sse" | "http",
  url: URL | string,
  { headers = [{}], secret, http = {}, ...changes }: NetworkChanges = {},
): TestContext & NetworkContext & { readonly refusals: readonly number[] } {
  const context = createTestContext(kind, changes);
  if (secret !== undefined) context.secrets.add(secret);
  const credential = createCredentialOf(context.secrets, ...headers);
  return { ...overNetwork({ ...context, credential }, url, http), refusals: credential.refusals };
}
