import { mkdirSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { printableText } from "@wirescope/channelz/internal";
import type { Redact } from "@wirescope/tool-server";
import { ToolServerError } from "@wirescope/tool-server";
import { forwardStdio } from "@wirescope/tool-server/internal";
import { continueWithout, findGateway, gatewayFolder, type RunningGateway, realPathOf } from "../../gateway-file.js";
import type { Io } from "../../io.js";
import type { OptionValues } from "../../options.js";
import { UsageError } from "../../usage-error.js";
import type { upOptions } from "../up-options.js";
import { watchFiles } from "../watch-files.js";
import { createGatewayTransport, type GatewayLink, linkToOwn, linkToRunning, type RunGateway } from "./gateway-link.js";

/** Logs events that do not belong to a server or a call. */
export interface StdioLog {
  note(text: string): void;
  problem(text: string): void;
}

interface StdioOptions {
  readonly files: readonly string[];
  readonly values: OptionValues<typeof upOptions>;
  readonly io: Io;
  readonly input: Readable;
  readonly output: Writable;
  readonly stop: AbortSignal;
  /** Runs a gateway in this process. */
  readonly runOwn: RunGateway;
  /** Redacts secrets in errors for the client. */
  readonly redact: Redact;
  readonly log: StdioLog;
}

/** Bounds memory only: the gateway responds with an error to a message that exceeds its own, lower limit. */
const maxMessageBytes = 64 * 1024 * 1024;

/** How long a gateway that cannot start waits for the first request of its client, to respond with the reason. */
const firstRequestMs = 2000;
const maxReasonLength = 1000;

/**
 * Connects the client on these streams to the running gateway of the configuration, or to one in this process if none is running. When
 * the gateway stops or another one starts, the session of the client moves to the new one. Resolves when the client disconnects or the
 * signal aborts. Rejects if no gateway could be started, after the first request of the client got an error with the reason.
 */
export async function runStdio(options: StdioOptions): Promise<void> {
  const { files, values, io, input, output, stop, runOwn, redact, log } = options;
  let link: GatewayLink | undefined;
  let hasWorked = false;
  let startFailure: { readonly error: unknown; readonly shown: ToolServerError } | undefined;
  let onFirstMessage: (() => void) | undefined;
  let reopen = (): void => {};
  let fail = (_: unknown): void => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  let onRefused = (): void => {};
  const refused = new Promise<void>((resolve) => {
    onRefused = resolve;
  });
  let firstRequestTimer: NodeJS.Timeout | undefined;

  const open = async (): Promise<GatewayLink> => {
    if (startFailure !== undefined) throw startFailure.shown;
    const running = await findAttachable(files, values, io);
    const attached = running && (await linkToRunning(running, values.ca, io));
    link = attached ?? linkToOwn(runOwn, onFailed);
    if (attached !== undefined) log.note(`Connected the client to the running gateway at ${running?.endpoint}.`);
    else onFirstMessage = () => log.note("Connected the client to a new gateway in this process.");
    return link;
  };
  const onFailed = (error: unknown): ToolServerError => {
    const shown = failureForClient(error, redact);
    // A client that was served before stays connected: a gateway is opened again.
    if (hasWorked) log.problem(shown.message);
    else if (startFailure === undefined) {
      startFailure = { error, shown };
      // At a terminal, no client sends a request.
      firstRequestTimer = setTimeout(onRefused, "isTTY" in input && input.isTTY ? 0 : firstRequestMs);
      void refused.then(() => fail(error));
    }
    return shown;
  };
  // Opened before the first message, so that problems are reported immediately and servers already connect.
  let first: Promise<GatewayLink> | undefined = open();
  first.catch(onFailed);
  const next = (): Promise<GatewayLink> => {
    const opening = first ?? open();
    first = undefined;
    return opening;
  };
  const onMessage = (): void => {
    hasWorked = true;
    onFirstMessage?.();
    onFirstMessage = undefined;
  };

  makeWatchable(gatewayFolder(io.env));
  const follow = async (): Promise<void> => {
    const running = await findAttachable(files, values, io);
    if (link !== undefined && running?.pid !== link.pid) reopen();
  };
  const stopWatching = watchFiles([gatewayFolder(io.env)], () => void follow());
  const onStop = (): void => void (link?.stop() ?? Promise.resolve()).then(() => input.destroy());
  if (stop.aborted) onStop();
  else stop.addEventListener("abort", onStop, { once: true });
  try {
    const forwarding = forwardStdio({
      openTransport: () => createGatewayTransport(next, onMessage),
      input,
      output,
      messageBytes: maxMessageBytes,
      redact,
      hint: "",
      // Why no gateway could be started is reported once, at the end.
      onProblem: (text) => void (startFailure === undefined && log.problem(text)),
      onRefused: () => void (startFailure !== undefined && onRefused()),
      isReplaceable: true,
      onStarted: (given) => {
        reopen = given;
      },
    });
    await Promise.race([forwarding, failed]);
  } finally {
    stop.removeEventListener("abort", onStop);
    stopWatching();
    input.destroy();
    await (await first?.catch(() => undefined))?.close();
    clearTimeout(firstRequestTimer);
  }
  // The client may have disconnected before the gateway failed.
  if (startFailure !== undefined) throw startFailure.error;
}

/** The error for the client: one line, redacted. */
function failureForClient(error: unknown, redact: Redact): ToolServerError {
  const message = error instanceof Error ? error.message : String(error);
  const next = error instanceof UsageError ? (error.next ?? "") : "";
  const oneLine = (text: string): string =>
    printableText(redact(text, "own").replace(/\s+/g, " ").trim(), maxReasonLength);
  const code = ToolServerError.is(error) ? error.code : "CONFIGURATION_UNREADABLE";
  return new ToolServerError(code, { problem: oneLine(`The gateway cannot start: ${message}`), advice: oneLine(next) });
}

/** A folder that does not exist cannot be watched. */
function makeWatchable(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // Then gateways cannot write their files there either.
  }
}

/** Options that require a new gateway. The others apply only if none is running. */
const ownOptions = ["standalone", "trust", "allow", "deny", "settings", "audit-file", "debug"] as const;

/**
 * The running gateway of this user that serves exactly these configurations with the same profile; undefined if none does, or if an
 * option requires a new gateway.
 */
async function findAttachable(
  files: readonly string[],
  values: OptionValues<typeof upOptions>,
  io: Io,
): Promise<RunningGateway | undefined> {
  const isOwn = ownOptions.some((name) => {
    const value = values[name];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  });
  if (isOwn) return undefined;
  const { profile = io.env.WIRESCOPE_PROFILE || "default" } = values;
  const requested = new Set(files.map(realPathOf));
  const matches = (running: RunningGateway): boolean => {
    const served = new Set(running.configurations);
    return (
      profile === (running.profile ?? "default") &&
      served.size === requested.size &&
      [...requested].every((file) => served.has(file))
    );
  };
  return findGateway(io, { matches }).catch((error: unknown) => continueWithout(error, io));
}
