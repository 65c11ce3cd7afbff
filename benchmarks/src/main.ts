import { benchCalls } from "./calls.js";
import { benchGateway } from "./gateway.js";
import { benchObserving } from "./observing.js";
import { benchPage } from "./page.js";
import { benchPages } from "./pages.js";
import { benchPeers } from "./peers/bench-peers.js";
import { benchRecordings } from "./recordings/bench-recordings.js";
import { printProgress, printSection, type Row } from "./report.js";
import { benchServing } from "./serving.js";
import { benchSockets } from "./sockets.js";
import { readCpuTime, stolenTimeWarning } from "./stolen-time.js";
import { benchToolCalls } from "./tool-calls.js";
import { benchToolbox } from "./toolbox.js";

const isQuick = process.argv.includes("--quick");
const counts = isQuick ? [10_000] : [10_000, 100_000, 1_000_000];

interface Section {
  readonly title: string;
  readonly sides: readonly [string, string];
  readonly bench: () => Promise<Row[]>;
}

const againstGrpcJs = ["wirescope", "grpc-js"] as const;
const sections: Readonly<Record<string, Section>> = {
  calls: { title: "Counting calls", sides: againstGrpcJs, bench: benchCalls },
  sockets: { title: "Sockets", sides: againstGrpcJs, bench: benchSockets },
  pages: { title: "Pages, from the registry to bytes", sides: againstGrpcJs, bench: () => benchPages(counts) },
  serving: { title: "Serving Channelz over gRPC", sides: againstGrpcJs, bench: benchServing },
  observing: { title: "Observing a process", sides: ["on", "off"], bench: benchObserving },
  "tool-calls": { title: "Calling tools", sides: ["wirescope", "the SDK"], bench: benchToolCalls },
  gateway: { title: "Through the gateway", sides: ["through", "direct"], bench: benchGateway },
  toolbox: {
    title: "Reading Channelz on the command line, recordings and samples",
    sides: ["wirescope", "node, or limit"],
    bench: async () => [...(await benchToolbox()), ...(await benchRecordings(isQuick))],
  },
  page: { title: "The page", sides: ["wirescope", ""], bench: benchPage },
  peers: { title: "Compared with other gateways and proxies", sides: ["wirescope", "the peer"], bench: benchPeers },
};

const chosen = process.argv.slice(2).filter((arg) => arg in sections);
console.log(
  `Node ${process.version}, ${process.platform} ${process.arch}. Both sides of a ratio were measured in this run.`,
);
const names = chosen.length > 0 ? chosen : Object.keys(sections);
for (const [at, name] of names.entries()) {
  const { title, sides, bench } = sections[name]!;
  printProgress(`${title} (section ${at + 1} of ${names.length})`);
  const before = readCpuTime();
  printSection(title, await bench(), sides);
  const warning = stolenTimeWarning(before);
  if (warning !== undefined) console.log(`\n  ${warning}`);
}
