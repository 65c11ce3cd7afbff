import { type Counters, inFlight, type SnapshotObject } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { Section } from "../design/index.js";
import { formatRate } from "../object-model/index.js";
import { rates } from "../shell/store/index.js";
import { RateChart, type RateChartProps } from "./rate-chart.js";

type Field = keyof Counters;

interface CounterRow {
  readonly field: Field;
  readonly title: string;
}

const callRows: readonly CounterRow[] = [
  { field: "started", title: "calls started" },
  { field: "succeeded", title: "calls succeeded" },
  { field: "failed", title: "calls failed" },
];

const socketRows: readonly CounterRow[] = [
  { field: "started", title: "streams started" },
  { field: "succeeded", title: "streams succeeded" },
  { field: "failed", title: "streams failed" },
  { field: "messagesSent", title: "messages sent" },
  { field: "messagesReceived", title: "messages received" },
  { field: "keepAlivesSent", title: "keep-alives sent" },
];

const callCharts: readonly Pick<RateChartProps, "title" | "lines">[] = [
  {
    title: "Calls per second",
    lines: [
      { field: "started", title: "started", colour: "--accent" },
      { field: "failed", title: "failed", colour: "--failing" },
    ],
  },
];

const socketCharts: readonly Pick<RateChartProps, "title" | "lines">[] = [
  {
    title: "Messages per second",
    lines: [
      { field: "messagesSent", title: "sent", colour: "--accent" },
      { field: "messagesReceived", title: "received", colour: "--text-soft" },
    ],
  },
  {
    title: "Streams per second",
    lines: [
      { field: "started", title: "started", colour: "--accent" },
      { field: "failed", title: "failed", colour: "--failing" },
    ],
  },
];

export interface CounterSectionProps {
  readonly object: SnapshotObject;
  readonly isClosed: boolean;
}

/** The counters of an object, with rates now and over the last minutes. */
export function CounterSection({ object, isClosed }: CounterSectionProps): VNode {
  const { counters, kind, key } = object;
  const now = isClosed ? undefined : rates(key);
  const rows = kind === "socket" ? socketRows : callRows;
  const what = kind === "socket" ? "streams" : "calls";
  return (
    <Section title="Counters">
      <table class="counters">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Counter</span>
            </th>
            <th scope="col" class="number">
              Total
            </th>
            <th scope="col" class="number">
              Per second
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ field, title }) => (
            <tr key={field}>
              <th scope="row">{title}</th>
              <td class={numberClass(field, counters[field])}>{counters[field].toLocaleString("en")}</td>
              <td class={numberClass(field, now?.[field])}>{now === undefined ? "–" : formatRate(now[field])}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">{what} open</th>
            <td class="number">{inFlight(counters).toLocaleString("en")}</td>
            <td />
          </tr>
        </tbody>
      </table>
      {(kind === "socket" ? socketCharts : callCharts).map(({ title, lines }) => (
        <RateChart key={title} title={title} objectKey={key} lines={lines} />
      ))}
    </Section>
  );
}

/** Highlights failures, but not a count of 0. */
function numberClass(field: string, value = 0): string {
  return field === "failed" && value > 0 ? "number counter-failed" : "number";
}
