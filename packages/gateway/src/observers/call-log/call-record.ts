import type { CallEnding } from "../../call-observer.js";
import type { CallTarget } from "../../call-target.js";
import type { ClientCall } from "../../client-call.js";
import type { CapturedBody } from "./capture.js";
import type { RecordedPhases } from "./recorded-phases.js";

/** The maximum length of a string from a client or a server, in characters. */
export const maxTextLength = 1024;

// A class, because one is created for every call.
export class CallRecord {
  readonly number: number;
  /** When it started, in milliseconds since the epoch. */
  readonly startMs: number;
  readonly phases: RecordedPhases;
  readonly method: string;
  readonly client: string;
  readonly session: string | undefined;
  server: string | undefined = undefined;
  name: string | undefined = undefined;
  outcome: CallEnding["kind"] | undefined = undefined;
  reason: string | undefined = undefined;
  /** Whole microseconds; -1 while it runs. */
  durationUs = -1;
  body: CapturedBody | undefined = undefined;
  /** Its approximate memory. */
  bytes = 0;

  constructor(number: number, startMs: number, call: ClientCall, phases: RecordedPhases) {
    this.number = number;
    this.startMs = startMs;
    this.phases = phases;
    this.method = cut(call.method);
    this.client = cut(call.account.label);
    this.session = call.session?.shortId;
  }

  /** Sets the server and name of the call, which are known after it has started. */
  setTarget({ server, name }: CallTarget): void {
    this.server = server;
    this.name = name === undefined ? undefined : cut(name);
  }

  end(target: CallTarget, kind: CallEnding["kind"], durationUs: number, reason: string | undefined): void {
    this.setTarget(target);
    this.outcome = kind;
    this.durationUs = durationUs;
    this.reason = reason === undefined ? undefined : cut(reason);
    const characters = this.method.length + this.client.length + (this.name?.length ?? 0) + (this.reason?.length ?? 0);
    this.bytes = recordBytes + characters * 2 + this.phases.list.length * phaseBytes;
  }
}

/** Measured with a heap snapshot: a record with its list, and a phase. */
const [recordBytes, phaseBytes] = [320, 104];

function cut(text: string): string {
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
}
