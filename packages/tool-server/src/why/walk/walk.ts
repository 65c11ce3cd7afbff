import { type Clock, systemClock } from "../../clock.js";
import type { Entry } from "../../config/entry.js";
import { createReporter, type Reporter } from "../../diagnostics.js";
import { printableText } from "../../printable-text.js";
import { isLauncher } from "../../process/resolve-command.js";
import { notTrusted } from "../../trust/judge-trust.js";
import type { ExplainOptions } from "../explain-options.js";

/** A walk that is under way: what all of its steps work with. */
export interface Walk
  extends Pick<ExplainOptions, "variables" | "pluginRoot" | "secrets" | "settings" | "ca" | "sandbox"> {
  readonly options: ExplainOptions;
  readonly entry: Entry;
  readonly clock: Clock;
  /** How long one answer may take, in milliseconds. */
  readonly answerMs: number;
  /** Aborts when the time of the walk is over. */
  readonly signal: AbortSignal;
  readonly report: Reporter;
  /** Rejects, with NOT_TRUSTED, where the entry may not act any more. */
  ensureTrusted(): Promise<void>;
  /** Text of others: without secrets, on one line, and cut. */
  say(text: string, maxLength?: number): string;
  redact(text: string): string;
}

/** Whether the entry starts a program that may have to be downloaded first. */
export function startsLauncher(entry: Entry): boolean {
  return entry.type === "stdio" && isLauncher(entry.command.template.text);
}

function defaultAnswerMs(entry: Entry): number {
  if (entry.type !== "stdio") return 10_000;
  return startsLauncher(entry) ? 120_000 : 30_000;
}

/** The walk of an entry, which ends when `signal` aborts. */
export function createWalk(options: ExplainOptions, entry: Entry, signal: AbortSignal): Walk {
  const { secrets, variables, pluginRoot, settings, ca, sandbox, clock = systemClock } = options;
  const answerMs = options.answerMs ?? defaultAnswerMs(entry);
  const redact = (text: string): string => secrets.redact(text);
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
    answerMs,
    signal,
    report: createReporter(secrets),
    async ensureTrusted() {
      const judgement = await options.judgeTrust(entry);
      if (judgement.state !== "trusted") throw notTrusted(entry.name, judgement);
    },
    // Cut only after secrets are taken out, so that no part of one stays.
    say: (text, maxLength = 300) => printableText(redact(text).replace(/\s+/g, " ").trim(), maxLength),
    redact,
  };
}
