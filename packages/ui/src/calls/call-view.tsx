import "./calls-view.css";
import { printableText } from "@wirescope/channelz/internal/text";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Copy, duration, Empty, ErrorNote, Loading, PropertyList, Section, StateMark, Time } from "../design/index.js";
import { Link, type ViewProps } from "../shell/routing/index.js";
import { type CallDetail, calls, capture, isAdministrator, readCall } from "../shell/store/index.js";
import { CallBody } from "./call-body.js";
import { titleOfCall, toneOfOutcome } from "./call-labels.js";
import { PhaseTimeline } from "./phase-timeline.js";

/** How often a running call is read again, in milliseconds. */
const pollMs = 1000;

/** One call: its properties, its phases and, if it was captured, its body. */
export function CallView({ params, isPanel }: ViewProps): VNode {
  const { id = "" } = params;
  const { call, error } = useCall(id);
  if (call === undefined) {
    if (error === undefined) return <Loading what="call" />;
    return (
      <Empty title="This call cannot be shown.">
        <ErrorNote error={error} />
        <Link to="/calls">Show the latest calls</Link>
      </Empty>
    );
  }
  const { outcome, message } = call;
  const elapsedMs = call.durationMs ?? Date.now() - call.startMs;
  return (
    <div class="page">
      <header class="call-title">
        <h1>{titleOfCall(call)}</h1>
        <StateMark tone={toneOfOutcome(outcome)}>{outcome}</StateMark>
        <span class="soft">{duration(elapsedMs)}</span>
      </header>
      {call.reason !== "" && <p class="call-reason">{printableText(call.reason)}</p>}
      <Section title="Timeline">
        <PhaseTimeline call={message} elapsedMs={elapsedMs} />
        {message.phases.length === 0 && <p class="soft">The gateway responded without a request to a server.</p>}
      </Section>
      <Section title="Call">
        <PropertyList
          rows={[
            ["Started", <Time key="time" ms={call.startMs} />],
            ["Server", call.server !== "" && <ServerLink name={call.server} isPanel={isPanel} />],
            ["Method", printableText(call.method)],
            ["Client", printableText(call.client)],
            ["Session", call.session !== "" && <code>{printableText(call.session)}</code>],
            ["Id", <Copy key="id" text={call.id} what="id" isShown />],
            ["Address", <Copy key="address" text={`${location.origin}/calls/${call.id}`} what="address" isShown />],
          ]}
        />
      </Section>
      <BodySection call={call} />
    </div>
  );
}

function ServerLink({ name, isPanel }: { readonly name: string; readonly isPanel: boolean }): VNode {
  return (
    <Link to={`/servers/${encodeURIComponent(name)}`} inPanel={isPanel}>
      {printableText(name, 80)}
    </Link>
  );
}

function BodySection({ call }: { readonly call: CallDetail }): VNode {
  const { body } = call.message;
  if (body !== undefined) return <CallBody call={call} body={body} />;
  const state = capture.value;
  const why = call.hasBody
    ? "The body was captured. Only an administrator can read it."
    : state === undefined || state.isAllowed
      ? "No body is stored. Capture was off when the call started, or the body was deleted: bodies are kept for up to 15 minutes."
      : "Bodies are not captured.";
  return (
    <Section title="Arguments and result">
      <p class="soft">{why}</p>
      {state?.isAllowed === false && isAdministrator.value && (
        <>
          <p class="soft">To allow it, start the gateway with this option:</p>
          <Copy text="wirescope up --capture" what="command" isShown />
        </>
      )}
    </Section>
  );
}

interface CallState {
  readonly call: CallDetail | undefined;
  readonly error: unknown;
}

/** Reads a call, and again while it runs. */
function useCall(id: string): CallState {
  const [state, setState] = useState<CallState & { readonly id: string }>({ id, call: undefined, error: undefined });
  // The list reports the end of the call sooner than the next poll.
  const listed = calls.value?.find((each) => each.id === id)?.outcome;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const read = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          const call = await readCall(id, signal);
          if (!signal.aborted) setState({ id, call, error: undefined });
          if (call.outcome !== "running") return;
        } catch (error) {
          if (!signal.aborted) setState((before) => ({ id, call: before.id === id ? before.call : undefined, error }));
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    };
    void read();
    return () => controller.abort();
  }, [id, listed]);
  return state.id === id ? state : { call: undefined, error: undefined };
}
