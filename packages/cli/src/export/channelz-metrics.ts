import {
  type Counters,
  counterDifference,
  type ObjectKey,
  type Origin,
  type Snapshot,
  type SnapshotObject,
} from "@wirescope/channelz/timeline";

/** One value of a metric. */
interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A Prometheus metric. */
export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly samples: readonly MetricSample[];
}

/** The sum of the counters of all objects with the same labels. */
interface Total {
  readonly labels: Readonly<Record<string, string>>;
  readonly sum: Record<string, number>;
}

/** The metrics of the processes that are read. */
export interface ChannelzMetrics {
  /** Adds the next read. */
  observe(snapshot: Snapshot, readMs: number): void;
  /** The metrics as of the last read. */
  read(): readonly Metric[];
}

const states = ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"] as const;
const counters = ["started", "succeeded", "failed"] as const;
const other = "(other)";
const maxLabelLength = 200;

/**
 * Creates the metrics. Channels and servers are counted by target or name, at most `maxNames` per process; the rest is counted as
 * `(other)`, which limits the cardinality if a process creates a channel for each call. Counters never go backwards: the counts of
 * closed objects stay in the sum.
 */
export function createChannelzMetrics(maxNames: number): ChannelzMetrics {
  let last: Snapshot | undefined;
  let lastReadMs = 0;
  const names = new Map<string, Set<string>>();
  const totals = new Map<string, Total>();

  function nameOf({ origin, name, target, kind, id }: SnapshotObject): string {
    const label = (target || name || (kind === "server" ? `server ${id}` : "")).slice(0, maxLabelLength);
    const known = names.get(origin) ?? new Set();
    names.set(origin, known);
    if (known.has(label)) return label;
    if (known.size >= maxNames) return other;
    known.add(label);
    return label;
  }

  /** The label of a process: its name, or its address if it is the only one and has none. */
  const labelOf = (origins: readonly Origin[], origin: string): string =>
    origin || (origins.find(({ name }) => name === origin)?.target ?? "");

  function add(object: SnapshotObject, difference: Counters): void {
    const isSocket = object.kind === "socket";
    const labels = {
      process: labelOf(last?.origins ?? [], object.origin),
      kind: object.kind,
      ...(isSocket ? {} : { name: nameOf(object) }),
    };
    const key = JSON.stringify(labels);
    const total: Total = totals.get(key) ?? { labels, sum: {} };
    totals.set(key, total);
    // A peer can report negative counts.
    for (const [field, value] of Object.entries(difference)) {
      total.sum[field] = (total.sum[field] ?? 0) + Math.max(value, 0);
    }
  }

  const isCounted = ({ isTop, kind }: SnapshotObject): boolean => isTop || kind === "server" || kind === "socket";

  function totalsOf(field: string, kinds: readonly string[]): MetricSample[] {
    return [...totals.values()].flatMap(({ labels, sum }) =>
      kinds.includes(labels.kind ?? "") ? [{ labels, value: sum[field] ?? 0 }] : [],
    );
  }

  return {
    observe(snapshot, readMs) {
      lastReadMs = readMs;
      const before: ReadonlyMap<ObjectKey, SnapshotObject> = last?.objects ?? new Map();
      last = snapshot;
      for (const object of snapshot.objects.values()) {
        if (!isCounted(object) || object.message === undefined) continue;
        const earlier = before.get(object.key);
        add(object, earlier === undefined ? object.counters : counterDifference(earlier.counters, object.counters));
      }
    },
    read() {
      if (last === undefined) return [];
      const { origins, objects } = last;
      const all = [...objects.values()];
      const countBy = (kind: SnapshotObject["kind"]): MetricSample[] =>
        origins.flatMap(({ name }) =>
          states.map((state) => ({
            labels: { process: labelOf(origins, name), state },
            value: all.filter((object) => object.origin === name && object.kind === kind && object.state === state)
              .length,
          })),
        );
      const countOf = (kind: SnapshotObject["kind"]): MetricSample[] =>
        origins.map(({ name }) => ({
          labels: { process: labelOf(origins, name) },
          value: all.filter((object) => object.origin === name && object.kind === kind).length,
        }));
      return [
        {
          name: "channelz_up",
          type: "gauge",
          help: "1 if the process responded to the last read, else 0.",
          samples: origins.map(({ name, error }) => ({
            labels: { process: labelOf(origins, name) },
            value: error === undefined ? 1 : 0,
          })),
        },
        { name: "channelz_channels", type: "gauge", help: "Channels by state.", samples: countBy("channel") },
        { name: "channelz_subchannels", type: "gauge", help: "Subchannels by state.", samples: countBy("subchannel") },
        { name: "channelz_servers", type: "gauge", help: "Servers.", samples: countOf("server") },
        {
          name: "channelz_sockets",
          type: "gauge",
          help: "Open sockets, including listening ones.",
          samples: countOf("socket"),
        },
        ...counters.map((field): Metric => {
          const samples = totalsOf(field, ["channel", "server"]);
          return { name: `channelz_calls_${field}_total`, type: "counter", help: `Calls ${field}.`, samples };
        }),
        ...counters.map((field): Metric => {
          const samples = totalsOf(field, ["socket"]);
          return { name: `channelz_streams_${field}_total`, type: "counter", help: `Streams ${field}.`, samples };
        }),
        {
          name: "channelz_messages_sent_total",
          type: "counter",
          help: "Messages sent.",
          samples: totalsOf("messagesSent", ["socket"]),
        },
        {
          name: "channelz_messages_received_total",
          type: "counter",
          help: "Messages received.",
          samples: totalsOf("messagesReceived", ["socket"]),
        },
        {
          name: "channelz_read_duration_seconds",
          type: "gauge",
          help: "How long the last read of all processes took.",
          samples: [{ labels: {}, value: lastReadMs / 1000 }],
        },
      ];
    },
  };
}
