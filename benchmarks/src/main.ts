import { benchCalls } from "./calls.js";
import { benchPages } from "./pages.js";
import { printSection, type Row } from "./report.js";
import { benchServing } from "./serving.js";
import { benchSockets } from "./sockets.js";

const isQuick = process.argv.includes("--quick");
const counts = isQuick ? [10_000] : [10_000, 100_000, 1_000_000];

const sections: Readonly<Record<string, () => Promise<Row[]>>> = {
  "Counting calls": benchCalls,
  Sockets: benchSockets,
  "Pages, from the registry to bytes": () => benchPages(counts),
  "Serving over gRPC": benchServing,
};

console.log(
  `Node ${process.version}, ${process.platform} ${process.arch}. Ratios are wirescope / grpc-js 1.14.7, in one run.`,
);
for (const [title, bench] of Object.entries(sections)) printSection(title, await bench());
