import "./calls-view.css";
import { printableText } from "@wirescope/channelz/internal/text";
import type { VNode } from "preact";
import { useCallback, useLayoutEffect, useMemo, useState } from "preact/hooks";
import {
  ActionButton,
  Button,
  type Column,
  Copy,
  duration,
  Empty,
  Icon,
  Loading,
  StateMark,
  Table,
  Time,
} from "../design/index.js";
import { address, openPanel, setQuery, tableQuery, type ViewProps } from "../shell/routing/index.js";
import {
  type CallRow,
  type Command,
  calls,
  chosenTime,
  missedCalls,
  readCall,
  session,
  useCommands,
} from "../shell/store/index.js";
import { outcomes, titleOfCall, toneOfOutcome } from "./call-labels.js";
import { type CallFilter, callsAt, filterCalls, holdList, valuesOf } from "./call-list.js";
import { CaptureButton, CaptureNote } from "./capture-switch.js";
import { jsonLinesOf, saveFile } from "./export-calls.js";
import { useHold } from "./use-hold.js";

const columns: readonly Column<CallRow>[] = [
  { key: "time", title: "Time", render: ({ startMs }) => <Time ms={startMs} />, sortValue: ({ startMs }) => startMs },
  {
    key: "outcome",
    title: "Outcome",
    render: ({ outcome }) => <StateMark tone={toneOfOutcome(outcome)}>{outcome}</StateMark>,
    sortValue: ({ outcome }) => outcome,
  },
  {
    key: "server",
    title: "Server",
    render: ({ server }) => (server === "" ? <span class="soft">gateway</span> : printableText(server, 60)),
    sortValue: ({ server }) => server,
  },
  {
    key: "call",
    title: "Call",
    isWide: true,
    render: (call) => (
      <>
        <span class="calls-title">{titleOfCall(call)}</span>
        {call.reason !== "" && <span class="calls-reason">{printableText(call.reason, 200)}</span>}
      </>
    ),
    sortValue: titleOfCall,
  },
  {
    key: "duration",
    title: "Duration",
    isNumber: true,
    render: ({ durationMs }) => (durationMs === undefined ? "" : duration(durationMs)),
    sortValue: ({ durationMs }) => durationMs,
  },
  {
    key: "client",
    title: "Client",
    priority: 2,
    render: ({ client }) => printableText(client, 40),
    sortValue: ({ client }) => client,
  },
  {
    key: "session",
    title: "Session",
    priority: 3,
    render: (call) => <span class="soft mono">{printableText(call.session, 20)}</span>,
  },
];

const keyOf = ({ id }: CallRow): string => id;
const searchText = (call: CallRow): string =>
  `${call.server} ${call.method} ${call.name} ${call.client} ${call.session} ${call.outcome} ${call.reason}`;
const open = ({ id }: CallRow): void => openPanel(`/calls/${encodeURIComponent(id)}`);

/** The calls of the gateway as they happen. */
export function CallsView({ query }: ViewProps): VNode {
  const [isPaused, setPaused] = useState(false);
  const filter: CallFilter = {
    server: query.get("server") ?? "",
    client: query.get("client") ?? "",
    outcome: query.get("outcome") ?? "",
    includesOwn: query.get("all") === "1",
  };
  const timeMs = chosenTime.value;
  const all = calls.value;
  const found = useMemo(
    () => filterCalls(timeMs === undefined ? (all ?? []) : callsAt(all ?? [], timeMs), filter),
    [all, timeMs, filter.server, filter.client, filter.outcome, filter.includesOwn],
  );
  const hold = useHold(found[0]?.id, timeMs === undefined && isPaused, timeMs !== undefined);
  const { shown, newCount } = holdList(found, hold.heldAt);
  const togglePause = useCallback((): void => setPaused((now) => !now), []);
  usePauseKey(togglePause);
  useCommands(
    useCallback(
      (): readonly Command[] => [
        { id: "calls pause", title: "Pause or resume the list of calls", group: "Calls", key: "p", run: togglePause },
        {
          id: "calls failed",
          title: "Show failed calls",
          group: "Calls",
          run: () => setQuery({ outcome: "failed" }),
        },
      ],
      [togglePause],
    ),
  );

  if (session.value !== undefined && !session.value.features.calls)
    return <Empty title="This page shows a process that is not a gateway, so it has no calls." />;
  if (all === undefined) return <Loading what="calls" />;
  const { panel } = address.value;
  return (
    <div class="calls">
      <h1 class="visually-hidden">Calls</h1>
      <CaptureNote />
      {missedCalls.value > 0 && (
        <p class="calls-note" role="status">
          {missedCalls.value} calls are missing here because they arrived faster than this page could read them.
        </p>
      )}
      <div class="calls-list" {...hold.handlers}>
        <Table
          what="calls"
          {...tableQuery()}
          columns={columns}
          rows={shown}
          keyOf={keyOf}
          searchText={searchText}
          onOpen={open}
          selectedKey={panel?.startsWith("/calls/") ? decodeURIComponent(panel.slice("/calls/".length)) : undefined}
          isScrolling
          toolbar={
            <>
              <Filters calls={all} filter={filter} />
              <Button
                isSmall
                isPressed={isPaused}
                isDisabled={timeMs !== undefined}
                label={isPaused ? "Resume (p)" : "Pause (p)"}
                onClick={togglePause}
              >
                <Icon name={isPaused ? "play" : "pause"} size={14} />
              </Button>
              <ActionButton
                isSmall
                isDisabled={shown.length === 0}
                busy="Exporting…"
                run={async () => saveFile("calls.jsonl", await jsonLinesOf(shown, readCall))}
              >
                Export
              </ActionButton>
              <CaptureButton />
              {newCount > 0 && (
                <span class="calls-new">
                  <Button isSmall kind="primary" onClick={hold.release}>
                    {newCount === 1 ? "1 new call" : `${newCount} new calls`}
                  </Button>
                </span>
              )}
            </>
          }
          empty={<NoCalls isFiltered={all.length > 0} />}
        />
      </div>
    </div>
  );
}

function Filters({ calls: all, filter }: { readonly calls: readonly CallRow[]; readonly filter: CallFilter }): VNode {
  const select = (name: "server" | "client" | "outcome", title: string, values: readonly string[]): VNode => (
    <select
      aria-label={title}
      value={filter[name]}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
    >
      <option value="">{title}</option>
      {[...new Set([...values, ...(filter[name] === "" ? [] : [filter[name]])])].map((value) => (
        <option key={value} value={value}>
          {printableText(value, 60)}
        </option>
      ))}
    </select>
  );
  return (
    <>
      {select("server", "All servers", valuesOf(all, "server"))}
      {select("outcome", "All outcomes", ["failed", ...outcomes])}
      {select("client", "All clients", valuesOf(all, "client"))}
      <label class="calls-check">
        <input
          type="checkbox"
          checked={filter.includesOwn}
          onChange={(event) => setQuery({ all: event.currentTarget.checked ? "1" : undefined })}
        />
        All requests
      </label>
    </>
  );
}

function NoCalls({ isFiltered }: { readonly isFiltered: boolean }): VNode {
  if (isFiltered) {
    return (
      <Empty title="No call matches the filter.">
        <Button onClick={() => setQuery({ server: undefined, client: undefined, outcome: undefined, all: "1" })}>
          Show all requests
        </Button>
      </Empty>
    );
  }
  return (
    <Empty title="No calls yet.">
      <p>Calls appear here when a client uses the gateway. Make one from a terminal:</p>
      <Copy text="wirescope call <server> <tool>" what="command" isShown />
    </Empty>
  );
}

/** The key "p" pauses the list. */
function usePauseKey(toggle: () => void): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "p" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.target instanceof Element && event.target.closest("input, textarea, select, dialog") !== null) return;
      toggle();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [toggle]);
}
