import "./state-mark.css";
import type { ComponentChildren, VNode } from "preact";

/** The meaning of a state's colour. */
export type Tone = "ready" | "connecting" | "idle" | "waiting" | "failing";

/** A shape for each tone, so that colour is never the only difference. */
const shapes: Readonly<Record<Tone, () => VNode>> = {
  ready: () => <circle cx="5" cy="5" r="4.5" stroke="none" />,
  connecting: () => <path d="M5 0.8 A4.2 4.2 0 1 1 0.8 5" fill="none" stroke-width="1.8" stroke-linecap="round" />,
  idle: () => <circle cx="5" cy="5" r="3.8" fill="none" stroke-width="1.6" />,
  waiting: () => <path d="M5 0.4 L9.8 9.2 H0.2 Z" stroke="none" />,
  failing: () => <path d="M1.6 1.6 L8.4 8.4 M8.4 1.6 L1.6 8.4" stroke-width="2.2" stroke-linecap="round" />,
};

export function ToneShape({ tone }: { readonly tone: Tone }): VNode {
  return (
    <svg viewBox="0 0 10 10" aria-hidden="true">
      {shapes[tone]()}
    </svg>
  );
}

/** A state by colour, shape and word. */
export function StateMark({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }): VNode {
  return (
    <span class={`state-mark tone-${tone}`}>
      <ToneShape tone={tone} />
      <span>{children}</span>
    </span>
  );
}

/** The tone of a Channelz connectivity state, by its name. */
export function toneOfState(state: string | undefined): Tone {
  switch (state) {
    case "READY":
      return "ready";
    case "CONNECTING":
      return "connecting";
    case "TRANSIENT_FAILURE":
      return "failing";
    default:
      return "idle";
  }
}

/** The word for a Channelz connectivity state, as in the documentation. */
export function wordOfState(state: string | undefined): string {
  return state === undefined || state === "UNKNOWN" ? "unknown" : state.toLowerCase().replaceAll("_", " ");
}
