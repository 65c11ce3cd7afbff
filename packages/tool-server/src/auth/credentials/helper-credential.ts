import { resolve } from "node:path";
import { backOffMs } from "../../back-off.js";
import { type Clock, systemClock } from "../../clock.js";
import type { ResolvedCommand } from "../../config/substitute-entry.js";
import type { CredentialDescription } from "../../connection-info.js";
import { type TrackOperation, untracked } from "../../diagnostics.js";
import { ToolServerError, withAdvice } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import type { Environment } from "../../process/child-environment.js";
import type { ProcessOutcome } from "../../process/process-outcome.js";
import type { Sandbox } from "../../process/sandbox.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { createSingleFlight } from "../../single-flight.js";
import {
  type Credential,
  credentialClosed,
  giveUp,
  isRefusal,
  type Refusal,
  type RefusalDecision,
  statusText,
} from "./credential.js";
import type { CredentialOwner } from "./fixed-credential.js";
import {
  createHeaderFields,
  describeHeader,
  type HeaderFields,
  type HeaderSource,
  mergeHeaderFields,
  noHeaders,
  secretsOfHeader,
} from "./header-fields.js";
import { tokenTimesOfHeader } from "./refusal-evidence.js";
import { type HelperOutput, type HelperRun, runHelper } from "./run-helper.js";
import { type ProgramTask, runSecretCommand } from "./run-program.js";

/** The helper whose output is the headers, or the commands whose outputs are their values, and how they are run. */
export interface HelperCredentialOptions extends CredentialOwner {
  readonly secrets: Pick<SecretRegistry, "add" | "redact" | "rotating">;
  /** The url of the server, with its variables substituted. */
  readonly url: string;
  /** The path of the script, relative to the plugin's root. It is not searched in PATH and takes no arguments. Default: none. */
  readonly helper?: string | undefined;
  /** The commands of headers, which run before the helper; its headers take precedence. Default: none. */
  readonly commands?: readonly ResolvedCommand[] | undefined;
  readonly pluginRoot: string;
  /** The headers of the entry, with their variables substituted; the headers of the helper take precedence. */
  readonly headers?: readonly HeaderSource[];
  /** The user's environment, which the helper gets. */
  readonly environment: Environment;
  /** The variables that it does not get: those with credentials of other servers. */
  readonly scrubbed?: Iterable<string>;
  /** The time limit of a run, in milliseconds. Default 10,000. */
  readonly timeLimitMs?: number | undefined;
  /** The maximum output of a run. Default 64 KiB. */
  readonly maxOutputBytes?: number;
  /** How long to use headers without an expiry, in milliseconds. Default 300,000. */
  readonly ttlMs?: number | undefined;
  readonly clock?: Clock;
  /** Awaited before each run; if it rejects with a ToolServerError, the helper is not run. */
  readonly beforeRun?: (() => Promise<void>) | undefined;
  /** The sandbox of each run, undefined for none; if it rejects with a ToolServerError, the helper is not run. */
  readonly prepareSandbox?: (() => Promise<Sandbox | undefined>) | undefined;
  /** Called after each run. Must not throw. */
  readonly onRun?: (run: HelperRunReport) => void;
  /** Publishes each run. Default: nothing is published. */
  readonly track?: TrackOperation | undefined;
}

/** One run of a helper. Contains no secret. */
export interface HelperRunReport {
  readonly server: string;
  /** The helper, or the program of the last command that ran. */
  readonly path: string;
  readonly program: "helper" | "command";
  /** Why it ran: there were no headers yet, they expired or were about to, or the server rejected them. */
  readonly cause: "first" | "renewal" | "refusal";
  readonly outcome: ProcessOutcome["kind"];
  readonly isSandboxed: boolean;
  /** The exit code, if it exited by itself. */
  readonly code: number | undefined;
  readonly durationMs: number;
  /** When the headers expire, if there are any; milliseconds since the epoch. */
  readonly expiresAt: number | undefined;
  readonly error: ToolServerError | undefined;
}

interface Generation {
  readonly fromHelper: HeaderFields;
  readonly headers: HeaderFields;
  readonly obtainedAt: number;
  readonly renewAt: number;
  readonly expiresAt: number;
  isRefused: boolean;
  /** Whether the server rejected these headers although the helper had just run again. */
  isRefusedFresh: boolean;
}

/** Headers expire this long before their token does, because requests take time and clocks differ. */
const expiryMarginMs = 5000;
/** Headers are used at least this long, even if they have expired; otherwise each request would run the helper. */
const minKeptMs = 5000;
const maxRenewalMs = 60_000;
const firstPauseMs = 1000;
const maxFailurePauseMs = 60_000;
const firstRefusalPauseMs = 5000;
const maxRefusalPauseMs = 300_000;

/**
 * Authenticates with headers from a script, or from commands. It runs when headers are first needed. Its output is used until its
 * `expiresAt` or the earliest expiry of a JSON Web Token in it, otherwise for `ttlMs`. In the last fifth of that time, at most one
 * minute, it runs in the background while the old headers are used. Concurrent callers share one run. A refusal runs it again, once; if the new headers are
 * refused too, it pauses with exponential back-off, as it does after a failure.
 *
 * Throws as `createHeaderFields` does. Its headers reject with HELPER_NOT_RUNNABLE, HELPER_FAILED, HELPER_TIMEOUT or
 * HELPER_OUTPUT_INVALID.
 */
export function createHelperCredential(options: HelperCredentialOptions): Credential {
  const { server, url, pluginRoot, secrets, environment, clock = systemClock, track = untracked } = options;
  const { helper, commands = [] } = options;
  const program = helper === undefined ? "command" : "helper";
  const path = helper === undefined ? (commands[0]?.command[0] ?? "") : resolve(pluginRoot, helper);
  const sources = options.headers ?? [];
  for (const { name, value } of sources) for (const secret of secretsOfHeader(name, value)) secrets.add(secret);
  const configured = createHeaderFields(sources, `The headers of the server ${JSON.stringify(server)}`);
  const ttls = commands.flatMap(({ ttlMs }) => ttlMs ?? []);
  const ttlMs = Math.min(options.ttlMs ?? 300_000, ...ttls);
  const task = {
    server,
    url,
    pluginRoot,
    environment,
    secrets,
    // A run may produce several headers, each with a few secrets.
    tokens: secrets.rotating(64),
    clock,
    scrubbed: [...(options.scrubbed ?? [])],
    timeLimitMs: options.timeLimitMs ?? 10_000,
    maxOutputBytes: options.maxOutputBytes ?? 64 * 1024,
  };

  let current: Generation | undefined;
  let failure: { readonly error: ToolServerError; readonly count: number; readonly until: number } | undefined;
  let runs = 0;
  let freshRefusals = 0;
  let refusalPauseUntil = 0;
  let isClosed = false;

  const flight = createSingleFlight(async (signal): Promise<HeaderFields> => {
    const cause = current === undefined ? "first" : current.isRefused ? "refusal" : "renewal";
    await options.beforeRun?.();
    const sandbox = await options.prepareSandbox?.();
    const startedAt = clock.now();
    runs += 1;
    const { outcome, result, ran } = await track("helper", cause, async (setOutcome) => {
      const run = await runAll({ ...task, sandbox }, helper === undefined ? undefined : path, commands, signal);
      if (run.result instanceof ToolServerError) {
        setOutcome({ outcome: run.outcome.kind === "aborted" ? "cancelled" : "failed", code: run.result.code });
      }
      return run;
    });
    signal.throwIfAborted();
    const isFailure = result instanceof ToolServerError;
    if (isFailure) {
      const count = (failure?.count ?? 0) + 1;
      failure = { error: result, count, until: clock.now() + backOffMs(count, firstPauseMs, maxFailurePauseMs) };
    } else {
      failure = undefined;
      current = createGeneration(configured, result, clock.now(), ttlMs);
    }
    options.onRun?.({
      server,
      path: ran,
      program,
      cause,
      outcome: outcome.kind,
      isSandboxed: sandbox !== undefined,
      code: outcome.kind === "exited" ? outcome.code : undefined,
      durationMs: clock.now() - startedAt,
      expiresAt: isFailure ? undefined : current?.expiresAt,
      error: isFailure ? result : undefined,
    });
    if (current === undefined || isFailure) throw isFailure ? result : credentialClosed(server);
    return current.headers;
  });

  const decide = ({ status, sent, attempt }: Refusal): RefusalDecision => {
    if (!isRefusal(status)) return giveUp(`HTTP ${status} does not concern the credential.`);
    if (isClosed) return giveUp("The credential was disposed of.");
    const now = clock.now();
    const isCurrent = current !== undefined && sent === current.headers && !current.isRefused;
    if (attempt > 1) {
      // Of all requests that were retried with these headers, only the first counts.
      if (isCurrent && current !== undefined && !current.isRefusedFresh) {
        current.isRefusedFresh = true;
        freshRefusals += 1;
        refusalPauseUntil = now + backOffMs(freshRefusals, firstRefusalPauseMs, maxRefusalPauseMs);
      }
      return giveUp(`${statusText(status)}: the server rejected the ${program}'s headers again after a new run.`);
    }
    // Older headers were refused, and newer ones are available or will be obtained by the next request.
    if (!isCurrent || current === undefined) return { action: "retry" };
    if (now < refusalPauseUntil) {
      const seconds = Math.ceil((refusalPauseUntil - now) / 1000);
      return giveUp(
        `${statusText(status)}: the server rejected the headers of a new run before. The ${program} runs again with the first request that is rejected after ${seconds} s.`,
      );
    }
    if (!current.isRefusedFresh) freshRefusals = 0;
    current.isRefused = true;
    return { action: "retry" };
  };

  return {
    kind: "helper",
    async headers(request) {
      if (isClosed) throw credentialClosed(server);
      request?.signal?.throwIfAborted();
      const now = clock.now();
      const isPaused = failure !== undefined && now < failure.until;
      if (current !== undefined && !current.isRefused && now < current.expiresAt) {
        if (now >= current.renewAt && !isPaused) flight.begin();
        return current.headers;
      }
      if (failure !== undefined && isPaused) throw pausedError(failure.error, failure.until - now);
      return flight.join(request?.signal);
    },
    environment: () => ({}),
    refused: async (refusal) => decide(refusal),
    describe(): CredentialDescription {
      const fromHelper = current?.fromHelper ?? {};
      const overridden = new Set(Object.keys(fromHelper).map((name) => name.toLowerCase()));
      const pausedUntil = Math.max(failure?.until ?? 0, refusalPauseUntil);
      return {
        kind: "helper",
        summary: helper === undefined ? commandSummary(commands) : `headers helper (${printableText(path, 500)})`,
        headers: [
          ...sources
            .filter(({ name }) => !overridden.has(name.toLowerCase()))
            .map(({ name, value, variables }) => describeHeader(name, value, "configuration", variables)),
          ...Object.entries(fromHelper).map(([name, value]) => describeHeader(name, value, "helper")),
        ],
        environment: [],
        helper: {
          path,
          runs,
          failures: failure?.count ?? 0,
          obtainedAt: current?.obtainedAt,
          expiresAt: current?.expiresAt,
          pausedUntil: pausedUntil > clock.now() ? pausedUntil : undefined,
        },
      };
    },
    async dispose() {
      isClosed = true;
      await flight.close(credentialClosed(server));
      current = undefined;
    },
  };
}

/** Runs the commands one after the other, then the helper, until one fails; `ran` is the last one. */
async function runAll(
  task: ProgramTask,
  helper: string | undefined,
  commands: readonly ResolvedCommand[],
  signal: AbortSignal,
): Promise<HelperRun & { readonly ran: string }> {
  let headers = noHeaders;
  let outcome: ProcessOutcome = { kind: "aborted" };
  let ran = "";
  for (const command of commands) {
    [ran = ""] = command.command;
    const run = await runSecretCommand(task, command, signal);
    outcome = run.outcome;
    if (run.result instanceof ToolServerError) return { outcome, result: run.result, ran };
    const field = [{ name: command.name, value: run.result }];
    headers = mergeHeaderFields(headers, createHeaderFields(field, command.field));
  }
  if (helper === undefined) return { outcome, result: { headers, expiresAt: undefined }, ran };
  const run = await runHelper({ ...task, path: helper }, signal);
  if (run.result instanceof ToolServerError) return { ...run, ran: helper };
  return { ...run, result: { ...run.result, headers: mergeHeaderFields(headers, run.result.headers) }, ran: helper };
}

/** The programs and headers, such as `command op (Authorization)`. */
function commandSummary(commands: readonly ResolvedCommand[]): string {
  const programs = [...new Set(commands.map(({ command }) => command[0] ?? ""))];
  const names = commands.map(({ name }) => name).join(", ");
  return `command ${printableText(programs.join(", "), 200)} (${names})`;
}

function createGeneration(
  configured: HeaderFields,
  { headers: fromHelper, expiresAt: statedExpiry }: HelperOutput,
  now: number,
  ttlMs: number,
): Generation {
  const tokenExpiries = Object.entries(fromHelper).flatMap(([name, value]) => {
    const expiry = tokenTimesOfHeader(name, value)?.expiresAt;
    return expiry === undefined ? [] : [expiry];
  });
  const expiries = [...tokenExpiries, ...(statedExpiry === undefined ? [] : [statedExpiry])].map(
    (time) => time - expiryMarginMs,
  );
  const expiresAt = Math.max(expiries.length === 0 ? now + ttlMs : Math.min(...expiries), now + minKeptMs);
  return {
    fromHelper,
    headers: mergeHeaderFields(configured, fromHelper),
    obtainedAt: now,
    renewAt: expiresAt - Math.min(maxRenewalMs, (expiresAt - now) / 5),
    expiresAt,
    isRefused: false,
    isRefusedFresh: false,
  };
}

function pausedError(error: ToolServerError, delayMs: number): ToolServerError {
  const seconds = Math.ceil(delayMs / 1000);
  const parts = withAdvice(error, `It runs again with the first request after ${seconds} s.`);
  return new ToolServerError(error.code, parts, { cause: error });
}
