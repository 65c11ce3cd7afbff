import type { Command } from "./command.js";
import { defineLiveCommand } from "./define-live-command.js";

const filterOption = {
  filter: {
    type: "string",
    placeholder: "text",
    help: "only objects with this id, or with this text in the name, target or origin",
  },
} as const;

/** Prints a line for each change of a process. */
export const watchCommand: Command = defineLiveCommand({
  name: "watch",
  playsRecordings: true,
  summary: "print each change of a process: states, new and closed objects, trace events",
  options: {
    ...filterOption,
    event: {
      type: "string",
      multiple: true,
      choices: ["state", "object", "trace", "target"],
      help: "print only this kind of change",
    },
    until: {
      type: "string",
      choices: ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"],
      help: "end with exit code 0 when every channel that the filter selects has this state",
    },
    for: { type: "string", placeholder: "duration", help: "end after this time; with --until the exit code is then 1" },
  },
  notes: [
    "A process that does not respond is reported, and again when it responds. --json prints one JSON line per change.",
    "For a recording (--target file:outage.wsr), it prints all changes from the start, or from @time on, and ends.",
    "Wait for a deployment in a script: wirescope watch --target host:port --filter backend --until READY --for 2m",
  ],
  run: async (task) => (await import("../live/run-watch.js")).runWatch(task),
});

/** Shows the traffic of a process live. */
export const topCommand: Command = defineLiveCommand({
  name: "top",
  playsRecordings: true,
  summary: "show channels and servers live: calls per second, in flight, failures; or once",
  options: {
    ...filterOption,
    sort: {
      type: "string",
      choices: ["problems", "rate", "failures", "in-flight", "name", "id"],
      help: "order of the rows; default: problems",
    },
    once: { type: "boolean", help: "read twice, print one table and end" },
  },
  notes: [
    "Keys: arrows or j and k select, Enter opens an object, Escape goes back, s changes the order, / filters, p pauses, ? shows help, q quits.",
    "It plays a recording (--target file:outage.wsr) from the start, or from @time on: left and right step, [ and ] move by a minute, g and G to the start and the end, + and - change the speed. --once shows its end, or @time.",
    "Without a terminal it prints a table for each read. --json prints one JSON line per read, or one document with --once.",
  ],
  run: async (task) => (await import("../live/run-top.js")).runTop(task),
});

/** Reports what is wrong with a process. */
export const explainCommand: Command = defineLiveCommand({
  name: "explain",
  playsRecordings: true,
  summary: "read a process twice or for a while, and report what is wrong with it, worst first",
  options: {
    for: { type: "string", placeholder: "duration", help: "how long to observe it; default: 2s" },
  },
  socketDetails: true,
  notes: [
    "The rules and their thresholds are in docs/explain.md. A longer observation finds more: flapping, leaks, stuck calls.",
    "For a recording (--target file:outage.wsr), it uses all samples up to the end or @time, or those of the last --for.",
    "With several targets it also reports which end of a connection holds up a call.",
    "The exit code is 1 if there is an error or a warning.",
  ],
  run: async (task) => (await import("../explain/run-explain.js")).runExplain(task),
});

/** Serves the metrics of processes. */
export const exportCommand: Command = defineLiveCommand({
  name: "export",
  summary: "serve metrics of any process to Prometheus, and send them to an OpenTelemetry collector",
  options: {
    listen: {
      type: "string",
      placeholder: "host:port",
      help: "where Prometheus reads /metrics; default: 127.0.0.1:9464",
    },
    expose: { type: "boolean", help: "allow an address that other machines can reach" },
    "max-names": {
      type: "string",
      placeholder: "n",
      help: "count at most this many targets and servers of a process by name, and the rest together; default: 200",
    },
  },
  notes: [
    "It reads the processes at --interval; 15s is enough for Prometheus. OTEL_EXPORTER_OTLP_ENDPOINT names a collector.",
    "deploy/metrics has a dashboard for Grafana and alert rules.",
  ],
  run: async (task) => (await import("../export/run-export.js")).runExport(task),
});
