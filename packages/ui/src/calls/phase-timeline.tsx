import "./phase-timeline.css";
import { printableText } from "@wirescope/channelz/internal/text";
import { type Call, PhaseKind } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { duration } from "../design/index.js";
import { Link } from "../shell/routing/index.js";
import { explanationOfPhase, titleOfPhase } from "./call-labels.js";
import { chartOf, type PhaseBar } from "./phase-bars.js";

/** Phases in which the server or the network processes the call; in all others it waits. */
const work: ReadonlySet<PhaseKind> = new Set([PhaseKind.REQUEST, PhaseKind.SERVER, PhaseKind.RESPONSE]);

/** The phases of a call, as nested bars below the total. */
export function PhaseTimeline({ call, elapsedMs }: { readonly call: Call; readonly elapsedMs: number }): VNode {
  const { totalMs, bars } = chartOf(call, elapsedMs);
  return (
    <ol class="phases" aria-label="Phases of the call">
      <li class="phase">
        <span class="phase-title">Total</span>
        <span class="phase-track" aria-hidden="true">
          <span class="phase-bar phase-bar-whole" style={{ left: "0", width: "100%" }} />
        </span>
        <span class="phase-length">{duration(totalMs)}</span>
        <span class="phase-object" />
      </li>
      {bars.map((bar, index) => (
        // Phases are only added at the end.
        <Phase key={index} bar={bar} />
      ))}
      {call.omittedPhases > 0 && <li class="soft">{call.omittedPhases} more phases are not kept.</li>}
    </ol>
  );
}

function Phase({ bar }: { readonly bar: PhaseBar }): VNode {
  const { kind, depth, startMs, lengthMs, left, width, hasFailed } = bar;
  const isMark = kind === PhaseKind.RETRY;
  const reason = printableText(bar.reason, 1000);
  const classes = [
    "phase-bar",
    work.has(kind) && "phase-bar-work",
    depth > 0 && "phase-bar-inner",
    lengthMs === undefined && !isMark && "phase-bar-open",
    isMark && "phase-bar-mark",
    hasFailed && "phase-bar-failed",
  ];
  const about = [explanationOfPhase(kind), `Started after ${duration(startMs)}.`].filter(Boolean).join(" ");
  return (
    <li class="phase" title={about}>
      <span class="phase-title" style={{ paddingLeft: `${depth * 12}px` }}>
        {titleOfPhase(kind)}
        {hasFailed && <span class="visually-hidden"> (failed)</span>}
      </span>
      <span class="phase-track" aria-hidden="true">
        <span
          class={classes.filter(Boolean).join(" ")}
          style={{ left: `min(${left * 100}%, 100% - 2px)`, width: isMark ? undefined : `${width * 100}%` }}
        />
      </span>
      <span class="phase-length">
        {isMark ? `at ${duration(startMs)}` : lengthMs === undefined ? "running" : duration(lengthMs)}
      </span>
      <span class="phase-object">
        <ObjectLink bar={bar} />
      </span>
      {reason !== "" && <p class={hasFailed ? "phase-reason phase-reason-failed" : "phase-reason"}>{reason}</p>}
    </li>
  );
}

/** The most specific object that a phase used. */
function ObjectLink({ bar }: { readonly bar: PhaseBar }): VNode | null {
  const [kind, id] =
    bar.socketId > 0n
      ? ["socket", bar.socketId]
      : bar.subchannelId > 0n
        ? ["subchannel", bar.subchannelId]
        : ["channel", bar.channelId];
  if (id === 0n) return null;
  return (
    <Link to={`/object/${kind}/${id}`} inPanel>
      {kind} {String(id)}
    </Link>
  );
}
