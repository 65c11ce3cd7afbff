import { printableText } from "@wirescope/channelz/internal/text";
import type { Snapshot } from "@wirescope/channelz/timeline";
import { exitCode } from "../failure.js";
import { formatJson, formatJsonLine, jsonOf } from "../output/json.js";
import { silentTarget } from "../output/silent-target.js";
import { renderTable } from "../output/table.js";
import { eachSnapshot, type LiveTask } from "./live-task.js";
import { arrangeRows, rowToJson, type TopOrder, topOrders, topRows } from "./top-rows.js";
import { topColumns, topHeadline } from "./top-table.js";

interface TopValues {
  readonly json: boolean;
  readonly once: boolean;
  readonly filter: string | undefined;
  readonly sort: string | undefined;
}

/** Shows the traffic of a process, in full screen at a terminal. Returns the exit code: 1 if no target responds. */
export async function runTop(task: LiveTask<TopValues>): Promise<number> {
  const { sampler, screen, io, values, signal } = task;
  const order: TopOrder = topOrders.find((known) => known === values.sort) ?? "problems";
  const isInteractive = io.stdout.isTTY === true && process.stdin.isTTY === true && !values.once && !values.json;
  if (isInteractive) {
    const { showTop } = await import("./top-screen.js");
    await showTop({ ...task, order, filter: values.filter ?? "" });
    return codeOf(sampler.timeline.newest());
  }
  const { recorded, timeline } = sampler;
  const print = (snapshot: Snapshot, before: Snapshot | undefined): void => {
    const rows = arrangeRows(topRows(snapshot, before), order, values.filter);
    if (values.json) {
      const time = new Date(snapshot.timeMs).toISOString();
      const document = jsonOf({ time, targets: snapshot.origins, rows: rows.map(rowToJson) });
      screen.print(values.once ? formatJson(document) : formatJsonLine(document));
    } else {
      const time = recorded === undefined ? "" : `${new Date(snapshot.timeMs).toISOString()} · `;
      screen.print(`${time}${topHeadline(snapshot, rows)}`);
      for (const origin of snapshot.origins) {
        if (origin.error !== undefined) screen.print(screen.palette.bad(printableText(silentTarget(origin))));
      }
      if (rows.length > 0)
        screen.printAll(["", ...renderTable(topColumns(screen.palette, snapshot), rows, screen.width)]);
      if (!values.once) screen.print("");
    }
  };
  if (recorded !== undefined && values.once) {
    const snapshot = timeline.at(recorded.chosenMs ?? recorded.lastMs);
    if (snapshot !== undefined) print(snapshot, timeline.at(snapshot.timeMs - Math.max(1, recorded.intervalMs)));
    return codeOf(snapshot);
  }
  const onSnapshot = (snapshot: Snapshot, before: Snapshot | undefined): true | undefined => {
    // Rates need two reads.
    if (before === undefined && isReadable(snapshot)) return undefined;
    print(snapshot, before);
    return values.once ? true : undefined;
  };
  await eachSnapshot(sampler, signal, onSnapshot, recorded && { firstMs: recorded.chosenMs ?? recorded.firstMs });
  return codeOf(timeline.newest());
}

function isReadable({ origins }: Snapshot): boolean {
  return origins.some(({ error }) => error === undefined);
}

function codeOf(snapshot: Snapshot | undefined): number {
  return snapshot !== undefined && isReadable(snapshot) ? exitCode.ok : exitCode.failure;
}
