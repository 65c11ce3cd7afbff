import "./time-bar.css";
import type { TimelineChange, TimelineRange } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button, duration, Time } from "../design/index.js";
import {
  chooseTime,
  chosenTime,
  closeRecording,
  distinctChanges,
  isRecordedTarget,
  recording,
  timeRange,
} from "./store/index.js";
import { changesNear, tickPath } from "./time-ticks.js";

const stepMs = 1000;

/** Moves the whole page through time. At its right end the page shows now. */
export function TimeBar(): VNode | null {
  const range = timeRange.value;
  const [hovered, setHovered] = useState<number>();
  if (range === undefined) return null;
  const chosen = chosenTime.value;
  const { firstMs, lastMs } = range;
  const isPast = chosen !== undefined;
  const isRecorded = recording.value !== undefined || isRecordedTarget.value;
  const end = isRecordedTarget.value ? "end" : "now";
  // The browser rounds to steps from the start, so the end must be a multiple of the step.
  const endMs = firstMs + Math.max(1, Math.ceil((lastMs - firstMs) / stepMs)) * stepMs;
  const move = (timeMs: number): void => {
    // The end of a recording is a moment like any other; the end of live data is now.
    chooseTime(recording.peek() === undefined && timeMs >= lastMs ? undefined : timeMs);
  };
  return (
    <section class={isPast ? "time-bar time-bar-past" : "time-bar"} aria-label="Time">
      <span class="time-bar-start soft">
        {duration(lastMs - firstMs)} {isRecorded ? "before the end" : "ago"}
      </span>
      <div
        class="time-bar-track"
        onPointerMove={(event) => setHovered(timeAt(event, range))}
        onPointerLeave={() => setHovered(undefined)}
      >
        {hovered !== undefined && <NearbyChanges range={range} timeMs={hovered} />}
        <Ticks range={range} all={distinctChanges.value} />
        <input
          type="range"
          aria-label="Moment that the page shows"
          min={firstMs}
          max={endMs}
          step={stepMs}
          value={chosen ?? endMs}
          aria-valuetext={chosen === undefined ? end : `${duration(lastMs - chosen)} before the end`}
          onInput={(event) => move(Number(event.currentTarget.value))}
        />
      </div>
      <span class="time-bar-time">
        {chosen === undefined ? (
          end
        ) : (
          <>
            <strong>{new Date(chosen).toLocaleTimeString()}</strong>{" "}
            <span class="soft">
              <Time ms={chosen} />
            </span>
          </>
        )}
      </span>
      {recording.value !== undefined ? (
        <Button isSmall onClick={closeRecording}>
          Close {recording.value.name}
        </Button>
      ) : (
        isPast && (
          <Button kind="primary" isSmall onClick={() => chooseTime(undefined)}>
            Return to {isRecordedTarget.value ? "the end" : "now"} <kbd>n</kbd>
          </Button>
        )
      )}
    </section>
  );
}

/** The distance of the slider's track from the edges, in px: half of its thumb. */
const inset = 8;
const maxShown = 6;

function timeAt(event: PointerEvent, { firstMs, lastMs }: TimelineRange): number {
  const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
  const share = (event.clientX - left - inset) / Math.max(1, width - 2 * inset);
  return firstMs + Math.min(1, Math.max(0, share)) * (lastMs - firstMs);
}

/** What changed around the pointer. History lists the same for keyboard and screen reader. */
function NearbyChanges({ range, timeMs }: { readonly range: TimelineRange; readonly timeMs: number }): VNode | null {
  const near = changesNear(distinctChanges.value, range, timeMs);
  if (near.length === 0) return null;
  const share = (timeMs - range.firstMs) / Math.max(1, range.lastMs - range.firstMs);
  return (
    <div class="time-bar-near" aria-hidden="true" style={{ left: `${Math.min(80, Math.max(20, share * 100))}%` }}>
      <p class="soft">{new Date(timeMs).toLocaleTimeString()}</p>
      {near.slice(0, maxShown).map(({ key, kind, text }, index) => (
        <p key={`${key} ${kind} ${index}`}>
          <span class="soft">{key.split("|").slice(1).join(" ")}</span> {text}
        </p>
      ))}
      {near.length > maxShown && <p class="soft">and {near.length - maxShown} more</p>}
    </div>
  );
}

/** A tick for each moment when something changed. */
function Ticks({ range, all }: { readonly range: TimelineRange; readonly all: readonly TimelineChange[] }): VNode {
  const { minor, major, failing } = useMemo(() => tickPath(all, range), [all, range]);
  return (
    <svg class="time-bar-ticks" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      <path class="time-bar-minor" d={minor} />
      <path d={major} />
      <path class="time-bar-failing" d={failing} />
    </svg>
  );
}
