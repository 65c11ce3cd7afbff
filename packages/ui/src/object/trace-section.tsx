import type { SnapshotObject } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { duration, Section, StateMark, Time } from "../design/index.js";
import { countOf, pathOfKey } from "../object-model/index.js";
import { Link } from "../shell/routing/index.js";
import { snapshot } from "../shell/store/index.js";
import { LongText } from "./summary.js";
import { readTrace, type TraceEntry } from "./trace-entries.js";

export interface TraceSectionProps {
  readonly object: SnapshotObject;
  readonly isPanel: boolean;
}

/** The trace as a timeline, the newest event first. */
export function TraceSection({ object, isPanel }: TraceSectionProps): VNode | null {
  if (object.kind === "socket") return null;
  const trace = readTrace(object);
  if (trace === undefined || trace.entries.length === 0) {
    return (
      <Section title="Trace">
        <p class="soft">This {object.kind} has recorded no events.</p>
      </Section>
    );
  }
  const hidden = trace.logged - BigInt(trace.entries.length);
  return (
    <Section title="Trace" actions={<span class="soft">{countOf(Number(trace.logged), "event")}</span>}>
      <ol class="trace">
        {trace.entries.map((entry, index) => (
          // Events have no id, and the list grows only at its start.
          <Entry key={trace.entries.length - index} entry={entry} isPanel={isPanel} />
        ))}
      </ol>
      {hidden > 0n && <p class="soft trace-older">{countOf(Number(hidden), "older event")} not shown.</p>}
    </Section>
  );
}

function Entry({ entry, isPanel }: { readonly entry: TraceEntry; readonly isPanel: boolean }): VNode {
  const { timeMs, sincePreviousMs, severity, tone, description, child } = entry;
  const isOpen = child !== undefined && snapshot.value?.objects.has(child.key) === true;
  return (
    <li class={`trace-entry trace-${severity}`}>
      <span class="trace-time">
        {timeMs === undefined ? "unknown time" : <Time ms={timeMs} />}
        {sincePreviousMs !== undefined && <span class="trace-distance">+{duration(sincePreviousMs)}</span>}
      </span>
      <span class="trace-severity">
        {severity === "info" ? (
          <span class="visually-hidden">info</span>
        ) : (
          <StateMark tone={tone}>{severity}</StateMark>
        )}
      </span>
      <span class="trace-text">
        <LongText text={description} />
        {child !== undefined && (
          <>
            {" "}
            <Link to={pathOfKey(child.key)} inPanel={isPanel}>
              {child.label}
            </Link>
            {!isOpen && <span class="soft"> (closed)</span>}
          </>
        )}
      </span>
    </li>
  );
}
