import "./history.css";
import type { TimelineChange } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { type Column, duration, Empty, Loading, Section, Table, Time, visibleLine } from "../design/index.js";
import { address, Link, setQuery, tableQuery, type ViewProps } from "../shell/routing/index.js";
import {
  changes,
  chooseTime,
  type FoldedChange,
  foldRetries,
  recording,
  samplingCost,
  snapshot,
  timeRange,
} from "../shell/store/index.js";
import { objectNames } from "./object-names.js";
import { RecordingSection } from "./recording-section.js";

/** Every kept change, and recordings of other times and machines. */
export function HistoryView({ isPanel }: ViewProps): VNode {
  const range = timeRange.value;
  if (range === undefined) return <Loading what="history" />;
  return (
    <div class={isPanel ? "page" : "page history"}>
      <h1 class="visually-hidden">History</h1>
      <RecordingSection />
      <Changes />
    </div>
  );
}

interface Row {
  readonly key: string;
  readonly change: TimelineChange;
  readonly name: string;
  readonly retries: number;
  readonly lastMs: number;
}

const maxNameLength = 120;
const maxTextLength = 300;

const kinds: Readonly<Record<TimelineChange["kind"], string>> = {
  appeared: "appeared",
  disappeared: "closed",
  state: "state",
  trace: "event",
  restarted: "restarted",
  origin: "process",
};

const columns: readonly Column<Row>[] = [
  {
    key: "time",
    title: "Time",
    render: ({ change }) => <Time ms={change.timeMs} />,
    sortValue: ({ change }) => change.timeMs,
  },
  {
    key: "kind",
    title: "Change",
    render: ({ change }) => kinds[change.kind],
    sortValue: ({ change }) => kinds[change.kind],
    priority: 2,
  },
  {
    key: "object",
    title: "Object",
    render: ({ change }) => <ObjectLink objectKey={change.key} />,
    sortValue: ({ change }) => change.key,
  },
  { key: "name", title: "Name", render: ({ name }) => name, sortValue: ({ name }) => name, priority: 3 },
  {
    key: "text",
    title: "Details",
    render: ({ change, retries, lastMs }) => {
      const text = visibleLine(change.text, maxTextLength);
      return (
        <span title={text}>
          {text}
          {retries > 0 && (
            <span class="soft">
              {`; ${retries} failed ${retries === 1 ? "retry" : "retries"}, the last `}
              <Time ms={lastMs} />
            </span>
          )}
        </span>
      );
    },
    isWide: true,
  },
];

const keyOf = ({ key }: Row): string => key;
const searchText = ({ change, name }: Row): string => `${kinds[change.kind]} ${name} ${change.key} ${change.text}`;

function ObjectLink({ objectKey }: { readonly objectKey: string }): VNode | null {
  const [, kind, id] = objectKey.split("|");
  if (kind === undefined || id === undefined) return null;
  return (
    <Link to={`/object/${kind}/${id}`} inPanel>
      {`${kind} ${id}`}
    </Link>
  );
}

function Changes(): VNode {
  const { query } = address.value;
  const [hasObjects, hasEvents] = [query.has("objects"), query.has("events")];
  const all = changes.value;
  const objects = snapshot.value?.objects;
  const nameOf = useMemo(() => objectNames(all, objects), [all, objects]);
  const rows = useMemo(() => {
    const hidden = new Set([...(hasObjects ? [] : ["appeared", "disappeared"]), ...(hasEvents ? [] : ["trace"])]);
    // A failure that ended before the next sample is only in the trace.
    return rowsOf(
      foldRetries(all.filter(({ kind, text }) => !hidden.has(kind) || text.includes("-> TRANSIENT_FAILURE"))),
      nameOf,
    );
  }, [all, nameOf, hasObjects, hasEvents]);
  const { firstMs, lastMs } = timeRange.value ?? { firstMs: 0, lastMs: 0 };
  const cost = samplingCost.value;
  return (
    <Section
      title="Changes"
      isFlush
      actions={
        <span class="soft">
          {duration(lastMs - firstMs)} kept
          {cost !== undefined && recording.value === undefined
            ? `; reading takes ${duration(cost.meanMs)} every ${duration(cost.intervalMs)}`
            : ""}
        </span>
      }
    >
      <Table
        what="changes"
        {...tableQuery()}
        columns={columns}
        rows={rows}
        keyOf={keyOf}
        searchText={searchText}
        isScrolling
        onOpen={({ change }) => chooseTime(change.timeMs)}
        toolbar={
          <>
            <Filter name="objects" title="Objects that appear or close" isOn={hasObjects} />
            <Filter name="events" title="Trace events" isOn={hasEvents} />
          </>
        }
        empty={
          <Empty title="No state has changed yet.">
            <p>State changes of channels and processes are listed here and marked in the time bar.</p>
          </Empty>
        }
      />
    </Section>
  );
}

interface FilterProps {
  /** The query parameter. */
  readonly name: string;
  readonly title: string;
  readonly isOn: boolean;
}

function Filter({ name, title, isOn }: FilterProps): VNode {
  return (
    <label class="history-filter">
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => setQuery({ [name]: event.currentTarget.checked ? "1" : undefined })}
      />
      {title}
    </label>
  );
}

/** The newest first. */
function rowsOf(all: readonly FoldedChange[], nameOf: (key: string) => string): readonly Row[] {
  return all
    .map(({ change, retries, lastMs }, index) => ({
      key: `${change.timeMs} ${change.key} ${change.kind} ${index}`,
      change,
      retries,
      lastMs,
      name: visibleLine(nameOf(change.key), maxNameLength),
    }))
    .reverse();
}
