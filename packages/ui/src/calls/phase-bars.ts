import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import { type Call, PhaseKind } from "@wirescope/gateway/admin";

/** A phase as a bar. Positions are shares of the whole, from 0 to 1. */
export interface PhaseBar {
  readonly kind: PhaseKind;
  readonly depth: number;
  readonly startMs: number;
  /** Undefined if it has not ended. */
  readonly lengthMs: number | undefined;
  readonly left: number;
  readonly width: number;
  readonly hasFailed: boolean;
  readonly reason: string;
  readonly channelId: bigint;
  readonly subchannelId: bigint;
  readonly socketId: bigint;
}

/** The bars of a call, and the length of the whole. */
export interface PhaseChart {
  readonly totalMs: number;
  readonly bars: readonly PhaseBar[];
}

/** `elapsedMs` is how long a call has been running, if it has not ended. */
export function chartOf({ phases, duration }: Pick<Call, "phases" | "duration">, elapsedMs: number): PhaseChart {
  const measured = phases.map((phase) => ({ phase, startMs: msOf(phase.start) ?? 0, lengthMs: msOf(phase.duration) }));
  const ends = measured.map(({ startMs, lengthMs }) => startMs + (lengthMs ?? 0));
  const totalMs = Math.max(msOf(duration) ?? elapsedMs, ...ends, 0.001);
  const bars = measured.map(({ phase, startMs, lengthMs }) => {
    const { kind, depth, failed, reason, channelId, subchannelId, socketId } = phase;
    const left = Math.min(1, startMs / totalMs);
    const width = kind === PhaseKind.RETRY ? 0 : Math.min(1 - left, (lengthMs ?? totalMs - startMs) / totalMs);
    return {
      kind,
      depth,
      startMs,
      lengthMs: kind === PhaseKind.RETRY ? undefined : lengthMs,
      left,
      width: Math.max(0, width),
      hasFailed: failed,
      reason,
      channelId,
      subchannelId,
      socketId,
    };
  });
  return { totalMs, bars };
}

function msOf(duration: Duration | undefined): number | undefined {
  return duration && durationMs(duration);
}
