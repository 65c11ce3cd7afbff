import "uplot/dist/uPlot.min.css";
import "./rate-chart.css";
import type { Counters, ObjectKey } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatRate } from "../object-model/index.js";
import { chosenTime, liveSnapshot, readHistory } from "../shell/store/index.js";
import { addPoint, type CounterPoint, rateColumns } from "./chart-data.js";
import { type Chart, type ChartLine, createChart } from "./create-chart.js";

export interface RateChartProps {
  readonly title: string;
  readonly objectKey: ObjectKey;
  readonly lines: readonly (ChartLine & { readonly field: keyof Counters })[];
}

/** Counts per second over the whole history, up to now. */
export function RateChart({ title, objectKey, lines }: RateChartProps): VNode {
  const series = useSeries(objectKey, lines);
  const columns = useMemo(() => rateColumns(series), [series]);
  const element = useRef<HTMLDivElement>(null);
  const [chart, setChart] = useState<Chart>();
  useEffect(() => {
    let created: Chart | undefined;
    let isLeft = false;
    void createChart(element.current!, lines).then((next) => {
      if (isLeft) next.end();
      else {
        created = next;
        setChart(next);
      }
    });
    return () => {
      isLeft = true;
      created?.end();
    };
  }, []);
  useEffect(() => chart?.setData(columns), [chart, columns]);
  const shownMs = chosenTime.value;
  useEffect(() => chart?.mark(shownMs === undefined ? undefined : shownMs / 1000), [chart, shownMs]);

  const last = columns.slice(1).map((values) => values.findLast((value) => value !== null));
  const summary = lines.map((line, index) => `${line.title} ${formatRate(last[index] ?? 0)}`).join(", ");
  return (
    <figure class="rate-chart">
      <figcaption>
        {title}
        <span class="rate-chart-lines">
          {lines.map((line) => (
            <span key={line.title} class={`rate-chart-line rate-chart${line.colour.slice(1)}`}>
              {line.title}
            </span>
          ))}
        </span>
      </figcaption>
      <div class="rate-chart-plot" ref={element} role="img" aria-label={`${title}, now: ${summary}`} />
    </figure>
  );
}

/** The values in the history, and those of every live snapshot since. */
function useSeries(key: ObjectKey, lines: RateChartProps["lines"]): readonly (readonly CounterPoint[])[] {
  const [series, setSeries] = useState<readonly (readonly CounterPoint[])[]>(() => lines.map(() => []));
  useEffect(() => {
    const controller = new AbortController();
    const request = { series: lines.map(({ field }) => ({ key, field })), maxChanges: 1 };
    readHistory(request, controller.signal).then(
      (history) => {
        const kept = lines.map(({ field }) => history.series.find((each) => each.field === field)?.points ?? []);
        // Snapshots may have arrived meanwhile.
        setSeries((now) => kept.map((points, index) => (now[index] ?? []).reduce(addPoint, points)));
      },
      () => {
        // The chart starts with the next live snapshot.
      },
    );
    return () => controller.abort();
  }, [key]);
  const now = liveSnapshot.value;
  useEffect(() => {
    const counters = now?.objects.get(key)?.counters;
    if (now === undefined || counters === undefined) return;
    setSeries((before) =>
      before.map((points, index) => addPoint(points, { timeMs: now.timeMs, value: counters[lines[index]!.field] })),
    );
  }, [now, key]);
  return series;
}
