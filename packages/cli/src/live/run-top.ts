import { printableText } from "@wirescope/channelz/internal/text";
import type { Snapshot } from "@wirescope/channelz/timeline";
import { exitCode } from "../failure.js";
import { formatJson, formatJsonLine, jsonOf } from "../output/json.js";
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

/** Shows the traffic of a process, at a terminal as a full screen. Gives the exit code: 1 if no target responds. */
export async function runTop(task: LiveTask<TopValues>): Promise<number> {
  const { sampler, screen, io, values, signal } = task;
  const order: TopOrder = topOrders.find((known) => known === values.sort) ?? "problems";
  const isInteractive = io.stdout.isTTY === true && process.stdin.isTTY === true && !values.once && !values.json;
  if (isInteractive) {
    const { showTop } = await import("./top-screen.js");
    await showTop({ ...task, order, filter: values.filter ?? "" });
    return codeOf(sampler.timeline.newest());
  }
  await eachSnapshot(sampler, signal, (snapshot, before) => {
    // Rates need two reads.
    if (before === undefined && isReadable(snapshot)) return undefined;
    const rows = arrangeRows(topRows(snapshot, before), order, values.filter);
    if (values.json) {
      const time = new Date(snapshot.timeMs).toISOString();
      const document = jsonOf({ time, targets: snapshot.origins, rows: rows.map(rowToJson) });
      screen.print(values.once ? formatJson(document) : formatJsonLine(document));
    } else {
      screen.print(topHeadline(snapshot, rows));
      for (const { name, target, error } of snapshot.origins) {
        if (error !== undefined) screen.print(screen.palette.bad(printableText(`${name || target}: ${error}`)));
      }
      if (rows.length > 0)
        screen.printAll(["", ...renderTable(topColumns(screen.palette, snapshot), rows, screen.width)]);
      if (!values.once) screen.print("");
    }
    return values.once ? true : undefined;
  });
  return codeOf(sampler.timeline.newest());
}

function isReadable({ origins }: Snapshot): boolean {
  return origins.some(({ error }) => error === undefined);
}

function codeOf(snapshot: Snapshot | undefined): number {
  return snapshot !== undefined && isReadable(snapshot) ? exitCode.ok : exitCode.failure;
}
