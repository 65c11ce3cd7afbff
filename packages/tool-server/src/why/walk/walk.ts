import { type Clock, systemClock, untilAborted } from "../../clock.js";
import type { Entry } from "../../config/entry.js";
import { createReporter, type Reporter } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { isLauncher } from "../../process/resolve-command.js";
import type { Redact } from "../../secrets/redactor.js";
import { notTrusted } from "../../trust/evaluate-trust.js";
import type { ExplainOptions } from "../explanation.js";

/** A walk in progress: the context of its steps. */
export interface Walk
  extends Pick<ExplainOptions, "variables" | "pluginRoot" | "secrets" | "settings" | "ca" | "sandbox"> {
  readonly options: ExplainOptions;
  readonly entry: Entry;
  readonly clock: Clock;
  /** The timeout of one response, in milliseconds. */
  readonly responseMs: number;
  /** Aborts when the walk times out. */
  readonly signal: AbortSignal;
  readonly report: Reporter;
  /** Rejects with NOT_TRUSTED if the entry is no longer trusted. */
  ensureTrusted(): Promise<void>;
  /** Sanitizes text from a peer: redacted, on one line, truncated. */
  sanitize(text: string, maxLength?: number): string;
  readonly redact: Redact;
}

/** Whether the entry starts a program that may have to be downloaded first. */
export function startsLauncher(entry: Entry): boolean {
  return entry.type === "stdio" && isLauncher(entry.command.template.text);
}

function defaultResponseMs(entry: Entry): number {
  if (entry.type !== "stdio") return 10_000;
  return startsLauncher(entry) ? 120_000 : 30_000;
}

/** Creates the walk of an entry, which ends when `signal` aborts. */
export function createWalk(options: ExplainOptions, entry: Entry, signal: AbortSignal): Walk {
  const { secrets, variables, pluginRoot, settings, ca, sandbox, clock = systemClock } = options;
  const { redact } = secrets;
  return {
    options,
    entry,
    variables,
    pluginRoot,
    secrets,
    settings,
    ca,
    sandbox,
    clock,
    responseMs: options.responseMs ?? defaultResponseMs(entry),
    signal,
    report: createReporter(secrets),
    async ensureTrusted() {
      const decision = await options.evaluateTrust(entry);
      if (decision.state !== "trusted") throw notTrusted(entry.name, decision);
    },
    // Truncated after redaction, so that no part of a secret remains.
    sanitize: (text, maxLength = 300) => printableText(redact(text).replace(/\s+/g, " ").trim(), maxLength),
    redact,
  };
}

/** Runs a task with the timeout of one response. Rejects with CALL_TIMEOUT if it takes longer, or with the reason of the walk's end. */
export async function within<T>(
  { clock, responseMs, signal }: Pick<Walk, "clock" | "responseMs" | "signal">,
  task: (signal: AbortSignal) => Promise<T>,
  timeMs: number = responseMs,
): Promise<T> {
  const limit = new AbortController();
  const both = AbortSignal.any([signal, limit.signal]);
  const problem = `No response within ${timeMs / 1000} s.`;
  const cancelTimeout = clock.after(timeMs, () =>
    limit.abort(new ToolServerError("CALL_TIMEOUT", { problem, advice: "" })),
  );
  try {
    both.throwIfAborted();
    return await untilAborted(task(both), both);
  } finally {
    cancelTimeout();
  }
}
