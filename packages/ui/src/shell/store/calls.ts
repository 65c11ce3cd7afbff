import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import {
  type Call,
  type CallClient,
  CallOutcome,
  type CaptureState,
  createCallClient,
  type WatchCallsResponse,
} from "@wirescope/gateway/admin";
import { applySoon } from "./batch.js";
import { transport } from "./transport.js";

/** The client for the gateway's call log. Only the store uses it. */
export const callClient: CallClient = createCallClient(transport);

/** The outcome of a call, as it is shown. */
export type Outcome = "running" | "ok" | "tool error" | "error" | "cancelled" | "needs input";

/** A call, as lists show it. Times are in milliseconds since 1970. */
export interface CallRow {
  readonly id: string;
  readonly startMs: number;
  /** Undefined while it runs. */
  readonly durationMs: number | undefined;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly client: string;
  readonly session: string;
  readonly server: string;
  readonly method: string;
  readonly name: string;
  readonly hasBody: boolean;
}

/** Whether bodies are captured, and whether they may be. */
export interface CaptureStatus {
  readonly isAllowed: boolean;
  readonly isOn: boolean;
  readonly untilMs: number | undefined;
}

/** The page keeps more calls than the gateway, but not without limit. */
const maxCalls = 5000;

const list = signal<readonly CallRow[] | undefined>(undefined);
const missed = signal(0);
const captureState = signal<CaptureStatus | undefined>(undefined);

/** The latest calls, the newest first; undefined until they are loaded. */
export const calls: ReadonlySignal<readonly CallRow[] | undefined> = computed(() => list.value);

/** How many calls are missing because the page was too slow to read them. */
export const missedCalls: ReadonlySignal<number> = computed(() => missed.value);

export const capture: ReadonlySignal<CaptureStatus | undefined> = computed(() => captureState.value);

/** Returns a function that shows one message of the gateway's calls after the other. */
export function createCallsReader(): (message: WatchCallsResponse) => void {
  // Calls of an earlier run of the gateway stay: their ids are different.
  const known = new Map((list.peek() ?? []).toReversed().map((call) => [call.id, call]));
  let skippedCount = missed.peek();
  return ({ skipped, calls: changed, capture: state }) => {
    if (skipped > 0n) dropRunning(known);
    skippedCount += Number(skipped);
    for (const call of changed) known.set(call.id, rowOf(call));
    for (const id of known.keys()) {
      if (known.size <= maxCalls) break;
      known.delete(id);
    }
    applySoon(list, () => {
      list.value = [...known.values()].reverse();
      missed.value = skippedCount;
      captureState.value = state && captureOf(state);
    });
  };
}

/** A running call may have ended in a skipped message; calls that still run are in the same message. */
function dropRunning(known: Map<string, CallRow>): void {
  for (const [id, { outcome }] of known) if (outcome === "running") known.delete(id);
}

const outcomes: Readonly<Partial<Record<CallOutcome, Outcome>>> = {
  [CallOutcome.RUNNING]: "running",
  [CallOutcome.OK]: "ok",
  [CallOutcome.TOOL_ERROR]: "tool error",
  [CallOutcome.ERROR]: "error",
  [CallOutcome.CANCELLED]: "cancelled",
  [CallOutcome.INPUT]: "needs input",
};

function rowOf(call: Call): CallRow {
  const { id, reason, client, session, server, method, name, hasBody } = call;
  return {
    id,
    startMs: call.startTime === undefined ? 0 : timestampMs(call.startTime),
    durationMs: call.duration && durationMs(call.duration),
    outcome: outcomes[call.outcome] ?? "error",
    reason,
    client,
    session,
    server,
    method,
    name,
    hasBody,
  };
}

function captureOf({ allowed, enabled, until }: CaptureState): CaptureStatus {
  return { isAllowed: allowed, isOn: enabled, untilMs: until && timestampMs(until) };
}

/** A call with its phases and, for an administrator, its body. */
export interface CallDetail extends CallRow {
  readonly message: Call;
}

/** Reads one call. Rejects with a ConnectError if it is no longer kept. */
export async function readCall(id: string, signal?: AbortSignal): Promise<CallDetail> {
  const { call } = await callClient.getCall({ id }, signal === undefined ? {} : { signal });
  if (call === undefined) throw new Error("The gateway returned no call.");
  return { ...rowOf(call), message: call };
}

/** Turns the capture of bodies on or off. Turning it off deletes what was captured. */
export async function setCapture(isOn: boolean): Promise<void> {
  const { capture: state } = await callClient.setCapture({ enabled: isOn, discard: !isOn });
  if (state !== undefined) captureState.value = captureOf(state);
}
