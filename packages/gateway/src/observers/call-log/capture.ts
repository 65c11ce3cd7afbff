import type { ClientCall } from "../../client-call.js";
import { type JsonText, redactedJson } from "./redacted-json.js";

/** The arguments and the result of a call, as redacted JSON. */
export interface CapturedBody {
  request: JsonText;
  response: JsonText | undefined;
  /** When it was captured, in milliseconds since the epoch. */
  readonly timeMs: number;
}

/** A call whose body is kept. */
interface Captured {
  body: CapturedBody | undefined;
}

/** Captures the arguments and results of calls while an administrator has turned it on. */
export interface Capture {
  readonly isAllowed: boolean;
  isOn(): boolean;
  /** When it turns off by itself, in milliseconds since the epoch; undefined if it is off. */
  untilMs(): number | undefined;
  /** Turns it on for this many milliseconds, or off with 0. Throws a TypeError without permission. */
  set(durationMs: number): void;
  /** Deletes all bodies. */
  discard(): void;
  request(record: Captured, call: ClientCall): void;
  response(record: Captured, call: ClientCall): void;
  /** Deletes the body of a record, which is no longer kept. */
  drop(record: Captured): void;
  close(): void;
}

export interface CaptureOptions {
  /** Whether it is on at the start, and an administrator may turn it on again. Default false. */
  readonly capturesBodies?: boolean | undefined;
  /** Redacts text about a server; undefined if it is about none. */
  readonly redact: (text: string, server: string | undefined, kind?: "own") => string;
  readonly now: () => number;
}

/** How long the capture stays on by default, in milliseconds. */
export const defaultCaptureMs: number = 15 * 60_000;
/** How long it stays on at most, in milliseconds. */
const maxCaptureMs = 60 * 60_000;
/** How long a body is kept, in milliseconds. */
const keepMs = 15 * 60_000;
/** The maximum size of all bodies, and of one request or response, in characters. */
const [maxTotal, maxBody] = [8 * 1024 * 1024, 64 * 1024];

export function createCapture(options: CaptureOptions & { readonly onChange: () => void }): Capture {
  const { capturesBodies = false, redact, now, onChange } = options;
  /** In the order in which they were captured. */
  const bodies = new Map<Captured, number>();
  let total = 0;
  let untilMs = capturesBodies ? now() + defaultCaptureMs : 0;
  let timer: NodeJS.Timeout | undefined;

  const isOn = (): boolean => untilMs !== 0 && now() < untilMs;
  const drop = (record: Captured): void => {
    const size = bodies.get(record);
    if (size === undefined) return;
    bodies.delete(record);
    total -= size;
    record.body = undefined;
  };
  const add = (record: Captured, size: number): void => {
    bodies.set(record, (bodies.get(record) ?? 0) + size);
    total += size;
    for (const [oldest] of bodies) {
      if (total <= maxTotal) break;
      drop(oldest);
    }
    timer ??= setTimeout(sweep, sweepMs).unref();
  };
  const discard = (): void => {
    for (const record of [...bodies.keys()]) drop(record);
  };
  /** Deletes old bodies, even if nothing is captured any more. */
  const sweep = (): void => {
    timer = undefined;
    for (const record of [...bodies.keys()]) {
      if ((record.body?.timeMs ?? 0) + keepMs <= now()) drop(record);
    }
    if (bodies.size > 0) timer = setTimeout(sweep, sweepMs).unref();
  };
  const jsonOf = (value: unknown, call: ClientCall): JsonText =>
    redactedJson(value, (text) => redact(text, call.route?.server), maxBody);

  return {
    isAllowed: capturesBodies,
    isOn,
    untilMs: () => (isOn() ? untilMs : undefined),
    set(durationMs) {
      if (durationMs > 0 && !capturesBodies)
        throw new TypeError("Capturing is not allowed. Start the gateway with capturesBodies.");
      untilMs = durationMs > 0 ? now() + Math.min(durationMs, maxCaptureMs) : 0;
      onChange();
    },
    discard,
    request(record, call) {
      const request = jsonOf(call.params, call);
      record.body = { request, response: undefined, timeMs: now() };
      add(record, request.text.length);
    },
    response(record, call) {
      const { body } = record;
      const { outcome } = call;
      if (body === undefined || outcome === undefined) return;
      const { error } = outcome;
      const { request } = body;
      // Now the server is known, and with it the secrets that it revealed.
      if (call.route !== undefined) body.request = jsonOf(call.params, call);
      body.response = jsonOf(error === undefined ? { result: outcome.result } : { error }, call);
      add(record, body.request.text.length - request.text.length + body.response.text.length);
    },
    drop,
    close() {
      untilMs = 0;
      clearTimeout(timer);
      discard();
    },
  };
}

/** How often old bodies are deleted, in milliseconds. */
const sweepMs = 60_000;
